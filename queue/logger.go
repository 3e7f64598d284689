package queue

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// asynqLog turns Asynq's log lines into slog records. Its news of starting and stopping is our debug; what we say
// ourselves, once per streak, is debug too. Fatal does not end the process.
type asynqLog struct{ log *slog.Logger }

func (a asynqLog) say(level slog.Level, args []any) {
	text := strings.TrimSpace(fmt.Sprint(args...))
	if strings.HasPrefix(text, "Dequeue error") {
		level = slog.LevelDebug
	}
	a.log.Log(context.Background(), level, "asynq: "+text)
}

func (a asynqLog) Debug(args ...any) { a.say(slog.LevelDebug, args) }
func (a asynqLog) Info(args ...any)  { a.say(slog.LevelDebug, args) }
func (a asynqLog) Warn(args ...any)  { a.say(slog.LevelWarn, args) }
func (a asynqLog) Error(args ...any) { a.say(slog.LevelError, args) }
func (a asynqLog) Fatal(args ...any) { a.say(slog.LevelError, args) }
