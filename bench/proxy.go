package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// delayProxy passes bytes on to Redis, those of requests after a delay: a network that is that much longer per round
// trip and no narrower.
type delayProxy struct {
	url      string
	target   string
	delay    time.Duration
	listener net.Listener
	all      sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // guarded by mu
}

func startProxy(ctx context.Context, target string, delay time.Duration) (*delayProxy, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("bench: start the proxy: %w", err)
	}
	p := &delayProxy{
		url: "redis://" + listener.Addr().String(), target: target, delay: delay, listener: listener,
		conns: map[net.Conn]struct{}{},
	}
	p.all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			p.all.Go(func() { p.serve(client) })
		}
	})
	return p, nil
}

func (p *delayProxy) serve(client net.Conn) {
	defer p.forget(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // the client sees its connection end
	}
	defer p.forget(server)
	p.mu.Lock()
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	p.mu.Unlock()
	p.all.Go(func() {
		defer p.forget(client)
		_, _ = io.Copy(client, server) // ends with either side
	})
	p.later(server, client)
}

// chunk is what was read at once, and when it is to be passed on.
type chunk struct {
	data []byte
	at   time.Time
}

// later copies with the delay. What comes during it is read meanwhile, so that throughput stays.
func (p *delayProxy) later(to io.Writer, from io.Reader) {
	queue := make(chan chunk, 1024)
	p.all.Go(func() {
		defer close(queue)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				queue <- chunk{data[:n], time.Now().Add(p.delay)}
			}
			if err != nil {
				return
			}
		}
	})
	timer := time.NewTimer(0)
	defer timer.Stop()
	failed := false
	for c := range queue { // to the end, so that the reader is never stuck
		timer.Reset(time.Until(c.at))
		<-timer.C
		if !failed {
			_, err := to.Write(c.data)
			failed = err != nil
		}
	}
}

func (p *delayProxy) forget(conn net.Conn) {
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
	_ = conn.Close() // either side may have closed it
}

// close ends all connections.
func (p *delayProxy) close() {
	_ = p.listener.Close() // ends accept
	p.mu.Lock()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.all.Wait()
}
