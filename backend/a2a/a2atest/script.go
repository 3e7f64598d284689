package a2atest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
)

// Script is what an agent does at a message. What it returns fails the task.
type Script func(ctx context.Context, s *Session) error

// Session is one message under way.
type Session struct {
	// Text is what the user said, Parts all of it.
	Text  string
	Parts a2a.ContentParts
	// Task is the task of the message, Again whether it was there before.
	Task  a2a.TaskID
	Again bool

	request *a2asrv.RequestContext
	queue   eventqueue.Queue
	end     context.CancelFunc
}

// Say answers without a task.
func (s *Session) Say(ctx context.Context, parts ...a2a.Part) error {
	message := a2a.NewMessage(a2a.MessageRoleAgent, parts...)
	message.ContextID = s.request.ContextID
	return s.queue.Write(ctx, message)
}

// Submit shows the task. Tasks that were there before need no Submit.
func (s *Session) Submit(ctx context.Context) error {
	return s.queue.Write(ctx, a2a.NewSubmittedTask(s.request, s.request.Message))
}

// Become puts the task into a state; with a text, the agent says it.
func (s *Session) Become(ctx context.Context, state a2a.TaskState, text string) error {
	var message *a2a.Message
	if text != "" {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, s.request, a2a.TextPart{Text: text})
	}
	event := a2a.NewStatusUpdateEvent(s.request, state, message)
	event.Final = state.Terminal() || state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired
	return s.queue.Write(ctx, event)
}

// Artifact adds parts to an artifact, or begins it.
func (s *Session) Artifact(ctx context.Context, id, name string, again bool, parts ...a2a.Part) error {
	event := a2a.NewArtifactUpdateEvent(s.request, a2a.ArtifactID(id), parts...)
	event.Append = again
	event.Artifact.Name = name
	return s.queue.Write(ctx, event)
}

// Completing shows a task that ends at once with the text as its artifact.
func Completing(text string) Script {
	return func(ctx context.Context, s *Session) error {
		if err := s.Submit(ctx); err != nil {
			return err
		}
		if err := s.Become(ctx, a2a.TaskStateWorking, ""); err != nil {
			return err
		}
		if err := s.Artifact(ctx, "answer", "answer", false, a2a.TextPart{Text: text}); err != nil {
			return err
		}
		return s.Become(ctx, a2a.TaskStateCompleted, "")
	}
}

// Until shows a task that works until the channel is closed and then completes with the text.
func Until(done <-chan struct{}, text string) Script {
	return func(ctx context.Context, s *Session) error {
		if err := s.Submit(ctx); err != nil {
			return err
		}
		if err := s.Become(ctx, a2a.TaskStateWorking, "working on it"); err != nil {
			return err
		}
		select {
		case <-done:
		case <-ctx.Done():
			return nil
		}
		if err := s.Artifact(ctx, "answer", "answer", false, a2a.TextPart{Text: text}); err != nil {
			return err
		}
		return s.Become(ctx, a2a.TaskStateCompleted, "")
	}
}

// agent carries scripts out.
type agent struct {
	script Script

	mu       sync.Mutex
	begun    int                     // guarded by mu
	canceled []a2a.TaskID            // guarded by mu
	running  map[a2a.TaskID]*Session // guarded by mu
	stopped  bool                    // guarded by mu
}

var _ a2asrv.AgentExecutor = (*agent)(nil)

// Execute runs the script for a message.
func (a *agent) Execute(ctx context.Context, request *a2asrv.RequestContext, queue eventqueue.Queue) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := &Session{
		Parts: request.Message.Parts, Task: request.TaskID, Again: request.StoredTask != nil,
		request: request, queue: queue, end: end,
	}
	var texts []string
	for _, part := range s.Parts {
		if text, ok := part.(a2a.TextPart); ok {
			texts = append(texts, text.Text)
		}
	}
	s.Text = strings.Join(texts, "\n")
	a.mu.Lock()
	if !s.Again {
		a.begun++
	}
	if a.stopped {
		end()
	}
	a.running[s.Task] = s
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		delete(a.running, s.Task)
		a.mu.Unlock()
	}()
	return a.script(ctx, s)
}

// Cancel ends the script of a task.
func (a *agent) Cancel(ctx context.Context, request *a2asrv.RequestContext, queue eventqueue.Queue) error {
	a.mu.Lock()
	if !slices.Contains(a.canceled, request.TaskID) {
		a.canceled = append(a.canceled, request.TaskID)
	}
	running := a.running[request.TaskID]
	a.mu.Unlock()
	event := a2a.NewStatusUpdateEvent(request, a2a.TaskStateCanceled, nil)
	event.Final = true
	err := queue.Write(ctx, event)
	if running != nil {
		running.end()
	}
	return err
}

func (a *agent) tasks() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun
}

func (a *agent) canceledTasks() []a2a.TaskID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.canceled)
}

func (a *agent) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	for _, s := range a.running {
		s.end()
	}
}
