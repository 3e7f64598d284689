package mcptool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxMessage is the longest message of a server in bytes. A longer one ends the session.
	maxMessage = 16 << 20
	// maxStderrLine and maxStderrLines bound what is logged of a server's standard error.
	maxStderrLine  = 500
	maxStderrRead  = 8 << 10 // of a line, so that no secret is cut before it is found
	maxStderrLines = 200
	minSecret      = 6 // the shortest value of a variable that is not logged
)

// inheritedVariables are what a started server gets of the program's own environment.
var inheritedVariables = []string{
	"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TMPDIR", "TZ", "USER",
	"APPDATA", "COMSPEC", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
	"USERNAME", "USERPROFILE",
}

// transport reaches the server; end ends what it began, and waits for a process that it started.
func (s *server) transport() (transport mcp.Transport, end func(), err error) {
	if s.at.URL != "" {
		transport, end = overHTTP(s.at, s.own)
		return transport, end, nil
	}
	child, err := s.start()
	if err != nil {
		return nil, nil, err
	}
	return &mcp.IOTransport{Reader: child.out, Writer: child.in, MaxLineLength: maxMessage}, child.end, nil
}

// child is a started server.
type child struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      io.ReadCloser
	exited   chan struct{} // closed when the process was waited for
	patience time.Duration
}

func (s *server) start() (*child, error) {
	//nolint:gosec // the agent's file, which is the operator's, says what is started
	cmd := exec.Command(s.at.Command[0], s.at.Command[1:]...)
	cmd.Env = environment(s.at.Env)
	cmd.SysProcAttr = childAttributes()
	cmd.WaitDelay = time.Second // a grandchild may hold standard error open
	cmd.Stderr = &stderr{logger: s.cfg.Logger, tool: s.name, hide: hiding(s.at.Env)}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, plain("start it", &trip{}, err)
	}
	out, outside, err := os.Pipe() // not StdoutPipe, which Wait closes under the reader
	if err != nil {
		return nil, plain("start it", &trip{}, errors.Join(err, in.Close()))
	}
	cmd.Stdout = outside
	err = cmd.Start()
	_ = outside.Close() // the child's now
	if err != nil {
		return nil, unstarted(errors.Join(err, in.Close(), out.Close()))
	}
	c := &child{cmd: cmd, in: in, out: out, exited: make(chan struct{}), patience: s.cfg.CloseTimeout}
	go func() {
		_ = cmd.Wait()    // how it ended does not matter: it is gone
		kill(cmd.Process) // what it started would keep the pipe open, and nobody would notice its end
		close(c.exited)
		time.AfterFunc(time.Second, func() { _ = out.Close() })
	}()
	return c, nil
}

// unstarted names a program that cannot be started by nothing but the reason.
func unstarted(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("cannot start it: %w", exec.ErrNotFound)
	}
	return plain("start it", &trip{}, err)
}

// end asks the server to end by closing its standard input, then with a signal, and kills it and what it started if it
// does not. It returns when the process is gone.
func (c *child) end() {
	_ = c.in.Close() // also when the session has closed it
	if !c.gone(c.patience) {
		interrupt(c.cmd.Process)
		c.gone(c.patience)
	}
	kill(c.cmd.Process) // the whole group: a package runner leaves its own child behind
	<-c.exited
	_ = c.out.Close() // nothing is read any more
}

func (c *child) gone(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return false
	}
}

// environment is what a started server sees.
func environment(declared map[string]string) []string {
	env := make([]string, 0, len(declared)+len(inheritedVariables))
	for _, name := range inheritedVariables {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for name, value := range declared {
		env = append(env, name+"="+value) // the last one of a name counts
	}
	slices.Sort(env[len(env)-len(declared):])
	return env
}

// stderr logs the first lines of what a server writes there, each up to a length.
type stderr struct {
	logger *slog.Logger
	tool   string
	hide   *strings.Replacer

	mu    sync.Mutex
	line  []byte // guarded by mu; its beginning
	lines int    // guarded by mu
}

// hiding blots out the values of the declared variables, which may be secrets. Short ones are words.
func hiding(env map[string]string) *strings.Replacer {
	var pairs []string
	for _, value := range env {
		if len(value) >= minSecret {
			pairs = append(pairs, value, "***")
		}
	}
	return strings.NewReplacer(pairs...)
}

// Write never fails and never waits.
func (e *stderr) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		e.line = append(e.line, part[:min(len(part), maxStderrRead-len(e.line))]...)
		if ended {
			e.tell()
		}
		rest = after
	}
	return len(p), nil
}

// tell logs the line. e.mu is held.
func (e *stderr) tell() {
	e.lines++
	if e.lines <= maxStderrLines && len(bytes.TrimSpace(e.line)) > 0 {
		line := e.hide.Replace(string(e.line))
		line = strings.ToValidUTF8(line[:min(len(line), maxStderrLine)], "\uFFFD")
		e.logger.LogAttrs(context.Background(), slog.LevelDebug, "an MCP server wrote",
			slog.String("tool", e.tool), slog.String("line", line))
	}
	e.line = e.line[:0]
}

// watchedBody tells of its end.
type watchedBody struct {
	io.ReadCloser
	done func()
}

// Close closes the body.
func (b *watchedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}
