package harness

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Cut says when a proxy fires: at the nth command that changes or reads data, before Redis has got it or after Redis has
// carried it out and before the program has its reply.
type Cut struct {
	Command int // from 1
	After   bool
}

// String is part of a subtest's name.
func (c Cut) String() string {
	if c.After {
		return fmt.Sprintf("after command %d", c.Command)
	}
	return fmt.Sprintf("before command %d", c.Command)
}

// Proxy stands between one program and Redis, and fires once, between two Redis calls.
type Proxy struct {
	URL string

	target string

	mu       sync.Mutex
	armed    bool
	cut      Cut
	fire     func()
	commands []string // since it was armed
}

// NewProxy starts a proxy in front of the stack's Redis.
func (s *Stack) NewProxy() *Proxy {
	s.tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.tb.Fatalf("proxy: %v", err)
	}
	p := &Proxy{URL: "redis://" + listener.Addr().String(), target: s.Server.Addr()}
	s.tb.Cleanup(func() { _ = listener.Close() }) // the test is over
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed with the test
			}
			go p.serve(client)
		}
	}()
	return p
}

// Arm makes the proxy call fire at the cut, counted from now.
func (p *Proxy) Arm(cut Cut, fire func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.cut, p.fire, p.commands = true, cut, fire, nil
}

// Commands lists the commands since the proxy was armed, up to the one at which it fired.
func (p *Proxy) Commands() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.commands...)
}

// reached notes a command and reports whether it is the one to fire at.
func (p *Proxy) reached(name string) (hit bool, cut Cut, fire func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch name {
	case "HELLO", "CLIENT", "PING", "INFO", "CONFIG", "COMMAND", "SUBSCRIBE", "UNSUBSCRIBE", "AUTH", "SELECT":
		return false, Cut{}, nil // about the connection or the server, not about an execution
	}
	if !p.armed {
		return false, Cut{}, nil
	}
	p.commands = append(p.commands, name)
	if len(p.commands) < p.cut.Command {
		return false, Cut{}, nil
	}
	p.armed = false
	return true, p.cut, p.fire
}

func (p *Proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }() // either side may have closed it
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return // Redis is down: so is the proxy
	}
	defer func() { _ = server.Close() }()
	var swallow firing
	go p.answers(client, server, &swallow)
	in := bufio.NewReader(client)
	for {
		name, data, err := readCommand(in)
		if err != nil {
			return
		}
		if hit, cut, fire := p.reached(name); hit {
			if !cut.After {
				fire()
				return
			}
			swallow.set(fire)
		}
		if _, err := server.Write(data); err != nil {
			return
		}
	}
}

// answers passes replies on until the connection fires: that reply is lost.
func (p *Proxy) answers(client, server net.Conn, swallow *firing) {
	defer func() { _ = client.Close() }()
	buffer := make([]byte, 32<<10)
	for {
		n, err := server.Read(buffer)
		if fire := swallow.get(); fire != nil && n > 0 {
			fire()
			return
		}
		if n > 0 {
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// firing is what a connection's next reply sets off.
type firing struct {
	mu   sync.Mutex
	fire func()
}

func (f *firing) set(fire func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fire = fire
}

func (f *firing) get() func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fire
}

// readCommand reads one command of the Redis protocol, an array of bulk strings, and returns its name and its bytes.
func readCommand(in *bufio.Reader) (string, []byte, error) {
	count, data, err := readSize(in, '*')
	if err != nil {
		return "", nil, err
	}
	name := ""
	for i := range count {
		size, head, err := readSize(in, '$')
		if err != nil {
			return "", nil, err
		}
		body := make([]byte, size+2)
		if _, err := io.ReadFull(in, body); err != nil {
			return "", nil, err
		}
		if i == 0 {
			name = strings.ToUpper(string(body[:size]))
		}
		data = append(append(data, head...), body...)
	}
	return name, data, nil
}

func readSize(in *bufio.Reader, kind byte) (int, []byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return 0, nil, err
	}
	if line[0] != kind {
		return 0, nil, fmt.Errorf("proxy: %q is no command", line)
	}
	size, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
	return size, line, err
}
