package harness

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	exitTimeout   = 60 * time.Second
	shownLogLines = 60
	keptLogLines  = 20_000
)

// Process is a program that the test started. It is ended with the test.
type Process struct {
	Name string

	tb   testing.TB
	cmd  *exec.Cmd
	log  *logBuffer
	done chan struct{} // closed when the process has ended and its log is complete

	mu    sync.Mutex
	err   error
	ended time.Time
}

// Run starts a program in the folder ("" for the test's own) with exactly the given environment.
func Run(tb testing.TB, name, dir, path string, env []string, args ...string) *Process {
	tb.Helper()
	p := &Process{Name: name, tb: tb, log: &logBuffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir, p.cmd.Env = dir, env
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = processAttributes()
	if err := p.cmd.Start(); err != nil {
		tb.Fatalf("start %s: %v", name, err)
	}
	go p.reap()
	tb.Cleanup(func() {
		p.Kill()
		if tb.Failed() {
			tb.Logf("---- log of %s (pid %d)\n%s", name, p.PID(), p.log.tail(shownLogLines))
		}
	})
	return p
}

func (p *Process) reap() {
	err := p.cmd.Wait()
	p.mu.Lock()
	p.err, p.ended = err, time.Now()
	p.mu.Unlock()
	close(p.done)
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends the process and its children with SIGKILL and waits for it. It may have ended already.
func (p *Process) Kill() {
	if !p.Running() {
		return
	}
	_ = killGroup(p.cmd.Process) // its own process group; an error says that it has ended
	<-p.done
}

// Freeze stops the process with SIGSTOP.
func (p *Process) Freeze() {
	p.tb.Helper()
	p.signal(freeze)
	Eventually(p.tb, exitTimeout, p.Name+" stands still", func() bool { return allStopped(p.PID()) })
}

// Thaw lets the process go on with SIGCONT.
func (p *Process) Thaw() { p.signal(thaw) }

// Terminate asks the process to stop with SIGTERM and does not wait.
func (p *Process) Terminate() { p.signal(syscall.SIGTERM) }

// HangUp sends SIGHUP, which asks a program to read its agents again.
func (p *Process) HangUp() { p.signal(syscall.SIGHUP) }

// Interrupt sends SIGINT to the process and its children, as Ctrl-C at a terminal does.
func (p *Process) Interrupt() {
	p.tb.Helper()
	if err := interruptGroup(p.cmd.Process); err != nil {
		p.tb.Fatalf("interrupt %s: %v", p.Name, err)
	}
}

func (p *Process) signal(sig syscall.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.tb.Fatalf("send %v to %s: %v", sig, p.Name, err)
	}
}

// WaitExit waits for the end of the process and returns when it was seen, and its error.
func (p *Process) WaitExit() (time.Time, error) {
	p.tb.Helper()
	select {
	case <-p.done:
	case <-time.After(exitTimeout):
		p.tb.Fatalf("%s did not end within %v", p.Name, exitTimeout)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended, p.err
}

// StopCleanly sends SIGTERM and fails the test unless the process ends with status 0.
func (p *Process) StopCleanly() {
	p.tb.Helper()
	p.Terminate()
	if _, err := p.WaitExit(); err != nil {
		p.tb.Fatalf("%s after SIGTERM: %v", p.Name, err)
	}
}

// WaitFault waits until the process has killed itself at the fault point, however often that was to be reached, and returns
// when it said so.
func (p *Process) WaitFault(point string) time.Time {
	p.tb.Helper()
	point, _, _ = strings.Cut(point, "#")
	if _, err := p.WaitExit(); err == nil {
		p.tb.Fatalf("%s ended without reaching the fault point %s", p.Name, point)
	}
	at, ok := p.log.find("FAULTPOINT " + point)
	if !ok {
		p.tb.Fatalf("%s ended, but not at the fault point %s", p.Name, point)
	}
	return at
}

// WaitLog waits for a line that contains text.
func (p *Process) WaitLog(timeout time.Duration, text string) {
	p.tb.Helper()
	Eventually(p.tb, timeout, fmt.Sprintf("%s logs %q", p.Name, text), func() bool {
		_, ok := p.log.find(text)
		return ok
	})
}

// Log is everything the process has printed.
func (p *Process) Log() string { return p.log.tail(keptLogLines) }

// LogCount counts the lines that contain text.
func (p *Process) LogCount(text string) int { return p.log.count(text) }

// logBuffer keeps lines with the time at which they came.
type logBuffer struct {
	mu      sync.Mutex
	partial string
	lines   []logLine
}

type logLine struct {
	at   time.Time
	text string
}

// Write takes what the process prints.
func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	parts := strings.Split(b.partial+string(data), "\n")
	b.partial = parts[len(parts)-1]
	for _, text := range parts[:len(parts)-1] {
		b.lines = append(b.lines, logLine{at: time.Now(), text: text})
	}
	if extra := len(b.lines) - keptLogLines; extra > 0 {
		b.lines = b.lines[extra:]
	}
	return len(data), nil
}

func (b *logBuffer) find(text string) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, line := range b.lines {
		if strings.Contains(line.text, text) {
			return line.at, true
		}
	}
	return time.Time{}, false
}

func (b *logBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := 0
	for _, line := range b.lines {
		if strings.Contains(line.text, text) {
			found++
		}
	}
	return found
}

func (b *logBuffer) tail(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out strings.Builder
	for _, line := range b.lines[max(0, len(b.lines)-n):] {
		fmt.Fprintf(&out, "%s %s\n", line.at.Format("15:04:05.000"), line.text)
	}
	out.WriteString(b.partial)
	return out.String()
}
