package wire

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

// Settings are a definition's model with its references resolved. They hold the key: never print them.
type Settings struct {
	agent.Model
	key string
}

// Resolve reads the references of a definition's model from the environment. Its errors name the reference only.
func Resolve(model agent.Model, lookup local.Lookup) (Settings, error) {
	s := Settings{Model: model}
	if strings.TrimSpace(model.Name) == "" {
		return s, errors.New("name: is required")
	}
	key, err := agent.Resolve(model.APIKey, lookup)
	switch {
	case err != nil:
		return s, fmt.Errorf("apiKey: %w", err)
	case model.APIKey != "" && strings.TrimSpace(key) == "":
		return s, fmt.Errorf("apiKey: the environment variable of %s is empty", model.APIKey)
	case !agent.ValidHeaderValue(key):
		return s, errors.New("apiKey: must not hold line breaks or control characters")
	}
	s.key = key
	if model.BaseURL == "" {
		return s, nil
	}
	if s.BaseURL, err = agent.Resolve(model.BaseURL, lookup); err != nil {
		return s, fmt.Errorf("baseURL: %w", err)
	}
	if problem := agent.CheckURL(s.BaseURL); problem != "" {
		return s, fmt.Errorf("baseURL: %s", problem)
	}
	if strings.Contains(s.BaseURL, "?") {
		return s, errors.New("baseURL: must not have a ? part")
	}
	return s, nil
}

// Key is the secret itself, empty when there is none.
func (s Settings) Key() string { return s.key }

// Wait is how long the model may take to begin its answer.
func (s Settings) Wait() time.Duration {
	if s.Timeout > 0 {
		return s.Timeout
	}
	return agent.DefaultModelTimeout
}

// MaxOutput is the smaller one of two bounds of an answer; 0 is none.
func MaxOutput(own, left int64) int64 {
	if own == 0 || left > 0 && left < own {
		return left
	}
	return own
}

// String hides the settings from every way of printing.
func (s Settings) String() string { return "model " + s.Name }

// GoString hides the settings from %#v.
func (s Settings) GoString() string { return s.String() }
