package a2atest

import (
	"context"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
)

// patient waits, in front of the SDK's handler, until that has put away the message before: a task shows its question a
// moment earlier than it takes the answer.
type patient struct{ a2asrv.RequestHandler }

const (
	putAway     = 30 * time.Second
	putAwayTick = 2 * time.Millisecond
)

// OnSendMessage takes the message as soon as the task is free.
func (p patient) OnSendMessage(ctx context.Context, message *a2a.MessageSendParams) (a2a.SendMessageResult, error) {
	ctx, cancel := context.WithTimeout(ctx, putAway)
	defer cancel()
	tick := time.NewTicker(putAwayTick)
	defer tick.Stop()
	for {
		result, err := p.RequestHandler.OnSendMessage(ctx, message)
		if err == nil || !strings.Contains(err.Error(), "execution is already in progress") {
			return result, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}
