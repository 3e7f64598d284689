package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/pawl-run/pawl/backend/local"
)

const (
	// defaultSilence is how long an answer under way may be silent before it is cut.
	defaultSilence = 120 * time.Second
	// maxAnswer bounds the bytes of one answer.
	maxAnswer = 64 << 20
	// maxErrorBody bounds what is read of an answer that is an error.
	maxErrorBody = 256 << 10
	idlePerHost  = 64
)

// newTransport is the connection pool that the models of one provider share.
func newTransport() http.RoundTripper {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	transport = transport.Clone()
	transport.MaxIdleConnsPerHost = idlePerHost
	transport.DisableCompression = true // a compressed stream arrives in lumps, late
	return transport
}

type watcher struct {
	settings Settings
	next     http.RoundTripper
	silence  time.Duration
}

// RoundTrip sends the request and watches over the answer. An answer that is not 200 is read here and becomes the error.
func (w *watcher) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	timer := time.AfterFunc(w.settings.Wait(), func() {
		cancel(transient("timeout", "the model did not begin its answer in time"))
	})
	stop := func() {
		timer.Stop()
		cancel(nil)
	}
	response, err := w.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		err = broken(ctx, "connection_failed", "the connection to the model's server failed")
		stop()
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer stop()
		defer func() { _ = response.Body.Close() }()
		// What could be read of it is enough: the status says what kind of failure it is.
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
		return nil, statusFailure(w.settings, response.StatusCode, response.Header, text)
	}
	cut := transient("stream_silent", "the model's answer was silent for too long")
	timer.Stop()
	timer = time.AfterFunc(w.silence, func() { cancel(cut) })
	response.Body = &watched{body: response.Body, ctx: ctx, cancel: cancel, timer: timer, silence: w.silence}
	return response, nil
}

// watched is a body whose every byte puts off the end of the wait.
type watched struct {
	body    io.ReadCloser
	ctx     context.Context //nolint:containedctx // a body has no other way to learn why it was cut
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
	read    int64
}

// Read reads what has arrived.
func (b *watched) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.read += int64(n)
	switch {
	case b.read > maxAnswer:
		return n, &local.Error{Kind: local.Permanent, Code: "answer_too_large", Message: "the model's answer is larger than 64 MiB"}
	case err != nil && !errors.Is(err, io.EOF):
		return n, broken(b.ctx, "stream_cut", "the model's answer broke off")
	case n > 0:
		b.timer.Reset(b.silence)
	}
	return n, err
}

// Close ends the request, read to its end or not.
func (b *watched) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.body.Close()
}

// broken is the reason why a request in ctx came to nothing: the watcher's own, else the network's.
func broken(ctx context.Context, code, message string) error {
	var own *local.Error
	if errors.As(context.Cause(ctx), &own) {
		return own
	}
	return transient(code, message)
}

func transient(code, message string) *local.Error {
	return &local.Error{Kind: local.Transient, Code: code, Message: message}
}
