package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// Pushes keeps where others want to be told of tasks, and what they were told last. *redisjournal.Store satisfies it: see
// journal.PushConfigs for what each call does.
type Pushes interface {
	PutPushConfig(ctx context.Context, id execution.ID, name string, config []byte, mark string) error
	PushConfigs(ctx context.Context, id execution.ID) (configs map[string][]byte, marks map[string]string, err error)
	DeletePushConfig(ctx context.Context, id execution.ID, name string) error
	MarkPushed(ctx context.Context, id execution.ID, name, mark string) error
	TakePushes(ctx context.Context, limit int, lease time.Duration) ([]execution.ID, error)
	KeepPushes(ctx context.Context, ids []execution.ID, lease time.Duration) error
	DropPushes(ctx context.Context, id execution.ID, mark string) (bool, error)
}

// maxPushConfigs is how many configs the store takes for a task.
const maxPushConfigs = 16

// Bounds of what is left for being told of a task, in bytes.
const (
	maxPushID     = 64
	maxPushURL    = 2048
	maxPushSecret = 2048
)

// stored is a push config as it is kept.
type stored struct {
	Version int            `json:"v"`
	Config  sdk.PushConfig `json:"config"`
}

// checkPush refuses a config that cannot be told by. path names it in errors.
func (f *Face) checkPush(path string, config *sdk.PushConfig) error {
	if f.pusher == nil {
		return sdk.ErrPushNotificationNotSupported
	}
	if err := f.pusher.guard.check(path+"url", config.URL); err != nil {
		return err
	}
	switch {
	case len(config.ID) > maxPushID || strings.ContainsAny(config.ID, "\x00\r\n"):
		return bad(path+"id", "want at most %d bytes of text", maxPushID)
	case len(config.Token) > maxPushSecret || !headerText(config.Token):
		return bad(path+"token", "want at most %d printable characters", maxPushSecret)
	}
	if auth := config.Auth; auth != nil {
		switch {
		case len(auth.Credentials) > maxPushSecret || !headerText(auth.Credentials):
			return bad(path+"authentication.credentials", "want at most %d printable characters", maxPushSecret)
		case len(auth.Schemes) > 0 && schemeOf(auth.Schemes) == "":
			return bad(path+"authentication.schemes", "want Bearer or Basic")
		case len(auth.Schemes) == 0 && auth.Credentials != "":
			return bad(path+"authentication.schemes", "is required with credentials: Bearer or Basic")
		}
	}
	return nil
}

// headerText reports whether a text may stand in a header as it is.
func headerText(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// schemeOf is the first scheme that is known.
func schemeOf(schemes []string) string {
	for _, scheme := range schemes {
		for _, known := range []string{"Bearer", "Basic"} {
			if strings.EqualFold(scheme, known) {
				return known
			}
		}
	}
	return ""
}

// keep stores a config that was checked. view is what its owner is told by the answer.
func (h *handler) keep(ctx context.Context, view execution.View, config *sdk.PushConfig) error {
	if config.ID == "" {
		config.ID = named("", config.URL)[:16] // the same address again is the same config
	}
	data, err := json.Marshal(stored{Version: 1, Config: *config})
	if err != nil {
		return fmt.Errorf("encode push config: %w", err)
	}
	pushes := h.face.cfg.Pushes
	if err := pushes.PutPushConfig(ctx, view.ID, config.ID, data, markOf(view)); err != nil {
		return h.storeProblem(ctx, view.ID, err)
	}
	now, err := h.see(ctx, sdk.TaskID(view.ID))
	if err == nil && markOf(now) != markOf(view) { // whoever looks after the task may have looked before
		if err := pushes.KeepPushes(ctx, []execution.ID{view.ID}, 0); err != nil {
			return h.storeProblem(ctx, view.ID, err)
		}
	}
	h.face.pusher.hurry()
	return nil
}

// storeProblem is an error of the store: a task that has gone, too many configs, or silence.
func (h *handler) storeProblem(ctx context.Context, id execution.ID, err error) error {
	if _, gone := h.see(ctx, sdk.TaskID(id)); errors.Is(gone, sdk.ErrTaskNotFound) {
		return sdk.ErrTaskNotFound
	}
	if kept, _, err := h.face.cfg.Pushes.PushConfigs(ctx, id); err == nil && len(kept) >= maxPushConfigs {
		return cannot("the task has %d push notification configs, and may have no more", len(kept))
	}
	return problem(execution.NewAPIError(execution.Unavailable, "the config cannot be kept now").After(time.Second).Because(err))
}

// shown is a config without its secrets: whoever may see the task is not whoever left them.
func shown(id sdk.TaskID, config sdk.PushConfig) *sdk.TaskPushConfig {
	config.Token = ""
	if config.Auth != nil {
		config.Auth = &sdk.PushAuthInfo{Schemes: config.Auth.Schemes}
	}
	return &sdk.TaskPushConfig{TaskID: id, Config: config}
}

// maySteer refuses a caller that only reads.
func maySteer(ctx context.Context) error {
	if auth.From(ctx).Authority.Role == execution.ReadRole {
		return problem(execution.NewAPIError(execution.Forbidden, "a key of role read steers nothing"))
	}
	return nil
}

// pushable is the task of that id, if others can be told of it.
func (h *handler) pushable(ctx context.Context, id sdk.TaskID) (execution.View, error) {
	if h.face.pusher == nil {
		return execution.View{}, sdk.ErrPushNotificationNotSupported
	}
	return h.see(ctx, id)
}

// OnSetTaskPushConfig implements a2asrv.RequestHandler.
func (h *handler) OnSetTaskPushConfig(ctx context.Context, params *sdk.TaskPushConfig) (*sdk.TaskPushConfig, error) {
	view, err := h.pushable(ctx, params.TaskID)
	if err == nil {
		err = maySteer(ctx)
	}
	if err == nil {
		err = h.face.checkPush("pushNotificationConfig.", &params.Config)
	}
	if err == nil {
		err = h.keep(ctx, view, &params.Config)
	}
	if err != nil {
		return nil, err
	}
	return shown(params.TaskID, params.Config), nil
}

// configs are those of a task by id.
func (h *handler) configs(ctx context.Context, id sdk.TaskID) (map[string]sdk.PushConfig, error) {
	view, err := h.pushable(ctx, id)
	if err != nil {
		return nil, err
	}
	kept, _, err := h.face.cfg.Pushes.PushConfigs(ctx, view.ID)
	if err != nil {
		return nil, h.storeProblem(ctx, view.ID, err)
	}
	all := make(map[string]sdk.PushConfig, len(kept))
	for name, data := range kept {
		var config stored
		if err := json.Unmarshal(data, &config); err != nil {
			return nil, fmt.Errorf("push config of %s: %w", id, err)
		}
		all[name] = config.Config
	}
	return all, nil
}

// OnGetTaskPushConfig implements a2asrv.RequestHandler. Without the id of a config it gives the first one.
func (h *handler) OnGetTaskPushConfig(ctx context.Context, params *sdk.GetTaskPushConfigParams) (*sdk.TaskPushConfig, error) {
	all, err := h.configs(ctx, params.TaskID)
	if err != nil {
		return nil, err
	}
	name := params.ConfigID
	if names := slices.Sorted(maps.Keys(all)); name == "" && len(names) > 0 {
		name = names[0]
	}
	config, there := all[name]
	if !there {
		return nil, bad("pushNotificationConfigId", "the task has no such push notification config")
	}
	return shown(params.TaskID, config), nil
}

// OnListTaskPushConfig implements a2asrv.RequestHandler.
func (h *handler) OnListTaskPushConfig(ctx context.Context, params *sdk.ListTaskPushConfigParams) ([]*sdk.TaskPushConfig, error) {
	all, err := h.configs(ctx, params.TaskID)
	if err != nil {
		return nil, err
	}
	list := make([]*sdk.TaskPushConfig, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, shown(params.TaskID, all[name]))
	}
	return list, nil
}

// OnDeleteTaskPushConfig implements a2asrv.RequestHandler. One that is not there is gone already.
func (h *handler) OnDeleteTaskPushConfig(ctx context.Context, params *sdk.DeleteTaskPushConfigParams) error {
	view, err := h.pushable(ctx, params.TaskID)
	if err == nil {
		err = maySteer(ctx)
	}
	switch {
	case err != nil:
		return err
	case params.ConfigID == "":
		return bad("pushNotificationConfigId", "is required")
	}
	if err := h.face.cfg.Pushes.DeletePushConfig(ctx, view.ID, params.ConfigID); err != nil {
		return h.storeProblem(ctx, view.ID, err)
	}
	return nil
}
