package memjournal

import (
	"bytes"
	"context"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// pushes are an execution's push configs. While look is set it stands in the index: somebody may look at atMs.
type pushes struct {
	configs map[string]pushConfig
	look    bool
	atMs    int64
}

type pushConfig struct {
	config []byte
	mark   string
}

// pushesOf runs f on a row's push configs, the store being locked.
func (s *Store) pushesOf(
	ctx context.Context, operation string, id execution.ID, f func(p *pushes, now int64) error,
) error {
	now, unlock, err := s.lock(ctx, operation, id)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.row(id)
	if err == nil {
		err = f(&r.pushes, now)
	}
	if err != nil {
		return fail(operation, id, err)
	}
	return nil
}

// PutPushConfig implements journal.PushConfigs.
func (s *Store) PutPushConfig(ctx context.Context, id execution.ID, name string, config []byte, mark string) error {
	return s.pushesOf(ctx, "put push config", id, func(p *pushes, now int64) error {
		if err := journal.CheckPushConfig(name, config, mark); err != nil {
			return err
		}
		before, there := p.configs[name]
		switch {
		case there && bytes.Equal(before.config, config):
			return nil
		case !there && len(p.configs) >= journal.MaxPushConfigs:
			return journal.ErrLimit
		case p.configs == nil:
			p.configs = map[string]pushConfig{}
		}
		p.configs[name] = pushConfig{bytes.Clone(config), mark}
		if !p.look {
			p.look, p.atMs = true, now
		}
		return nil
	})
}

// PushConfigs implements journal.PushConfigs.
func (s *Store) PushConfigs(ctx context.Context, id execution.ID) (map[string][]byte, map[string]string, error) {
	configs, marks := map[string][]byte{}, map[string]string{}
	err := s.pushesOf(ctx, "push configs", id, func(p *pushes, _ int64) error {
		for name, c := range p.configs {
			configs[name], marks[name] = bytes.Clone(c.config), c.mark
		}
		return nil
	})
	return configs, marks, err
}

// DeletePushConfig implements journal.PushConfigs.
func (s *Store) DeletePushConfig(ctx context.Context, id execution.ID, name string) error {
	return s.pushesOf(ctx, "delete push config", id, func(p *pushes, _ int64) error {
		if delete(p.configs, name); len(p.configs) == 0 {
			*p = pushes{}
		}
		return nil
	})
}

// MarkPushed implements journal.PushConfigs.
func (s *Store) MarkPushed(ctx context.Context, id execution.ID, name, mark string) error {
	return s.pushesOf(ctx, "mark pushed", id, func(p *pushes, _ int64) error {
		if c, there := p.configs[name]; there {
			p.configs[name] = pushConfig{c.config, mark}
		}
		return nil
	})
}

// TakePushes implements journal.PushConfigs.
func (s *Store) TakePushes(ctx context.Context, limit int, lease time.Duration) ([]execution.ID, error) {
	now, unlock, err := s.lock(ctx, "take pushes", "")
	if err != nil {
		return nil, err
	}
	defer unlock()
	var taken []execution.ID
	of := map[execution.Partition]int{}
	for id, r := range s.rows {
		if r.pushes.look && r.pushes.atMs <= now && of[id.Partition()] < limit {
			of[id.Partition()]++
			r.pushes.atMs = now + lease.Milliseconds()
			taken = append(taken, id)
		}
	}
	return taken, nil
}

// KeepPushes implements journal.PushConfigs.
func (s *Store) KeepPushes(ctx context.Context, ids []execution.ID, lease time.Duration) error {
	now, unlock, err := s.lock(ctx, "keep pushes", "")
	if err != nil {
		return err
	}
	defer unlock()
	for _, id := range ids {
		if r := s.rows[id]; r != nil && r.pushes.look {
			r.pushes.atMs = now + lease.Milliseconds()
		}
	}
	return nil
}

// DropPushes implements journal.PushConfigs.
func (s *Store) DropPushes(ctx context.Context, id execution.ID, mark string) (bool, error) {
	_, unlock, err := s.lock(ctx, "drop pushes", id)
	if err != nil {
		return false, err
	}
	defer unlock()
	r := s.rows[id]
	if r == nil {
		return true, nil
	}
	for _, c := range r.pushes.configs {
		if c.mark != mark {
			return false, nil
		}
	}
	r.pushes.look, r.pushes.atMs = false, 0
	return true, nil
}
