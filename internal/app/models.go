package app

import (
	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/anthropic"
	"github.com/pawl-run/pawl/backend/local/openai"
	"github.com/pawl-run/pawl/backend/local/scripted"
)

// modelFactories are the providers of models that a worker has, each with a pool of connections of its own.
func modelFactories() (map[string]local.ModelFactory, error) {
	chat, err := openai.New(openai.Config{})
	if err != nil {
		return nil, err
	}
	messages, err := anthropic.New(anthropic.Config{})
	if err != nil {
		return nil, err
	}
	return map[string]local.ModelFactory{
		"scripted":              scripted.Factory,
		agent.ProviderOpenAI:    chat.Factory,
		agent.ProviderAnthropic: messages.Factory,
	}, nil
}
