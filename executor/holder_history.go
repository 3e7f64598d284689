package executor

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// historyPage is how many messages are read at a time beyond what came with the claim.
const historyPage = 16

// history is the conversation's, decoded, for a node that reads it: what the worker knows of it, what came with the claim,
// and the rest of it in pages. Nobody else writes to it while the claim lasts, so it is read once for each claim.
func (h *holder) history(ctx context.Context) ([]execution.Message, error) {
	brought := h.nodes == 1 && h.claimed.HistoryLength > 0
	reads := Node(h.position.node) == BeforeModelRequest
	if h.current == nil && (brought || reads) {
		learnt, err := h.learn(ctx, brought)
		if err != nil {
			return nil, err
		}
		h.current = learnt
		h.durable.histories.keep(h.claimed.Execution.ID, h.position.step, learnt)
	}
	if !reads {
		return nil, nil
	}
	return h.current.messages, nil
}

// learn reads what is not known of the history. What is known is used if the store's answer begins with the last of it.
func (h *holder) learn(ctx context.Context, brought bool) (*history, error) {
	known, stored, length := h.known, h.claimed.Messages, h.claimed.HistoryLength
	if !brought {
		var err error
		if stored, err = h.readOn(ctx, known.known(), toTheEnd); err != nil {
			return nil, err
		}
		length = known.known() + len(stored)
	}
	grown, same, err := known.with(stored)
	if err != nil {
		return nil, err
	}
	if !same {
		grown = &history{}
		h.durable.histories.drop(h.claimed.Execution.ID)
		if !brought {
			length = toTheEnd
		}
	}
	if length != toTheEnd && len(grown.messages) >= length {
		return grown, nil
	}
	if stored, err = h.readOn(ctx, len(grown.messages), length); err != nil {
		return nil, err
	}
	return grown.and(stored)
}

// toTheEnd stands for the length of a history that is not known.
const toTheEnd = -1

// readOn reads the history from a message on, up to a length.
func (h *holder) readOn(ctx context.Context, from, length int) ([][]byte, error) {
	var stored [][]byte
	for length == toTheEnd || from+len(stored) < length {
		var page [][]byte
		err := repeat(ctx, h.trust.until(), func(ctx context.Context) (err error) {
			page, err = h.durable.cfg.Store.Messages(ctx, h.claimed.Execution.ID, from+len(stored), historyPage)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the history from %d on: %w", from+len(stored), err)
		}
		stored = append(stored, page...)
		if length == toTheEnd && len(page) < historyPage {
			break
		}
		if len(page) == 0 {
			return nil, fmt.Errorf("%w: the history ends at %d of %d", ErrCheckpoint, from+len(stored), length)
		}
	}
	return stored, nil
}

// grow takes what a commit wrote into the history that is known.
func (h *holder) grow(step execution.Step, messages [][]byte) {
	if h.current == nil || len(messages) == 0 {
		return
	}
	grown, err := h.current.and(messages)
	if err != nil { // it was just encoded
		h.current = nil
		return
	}
	h.current = grown
	h.durable.histories.keep(h.claimed.Execution.ID, step, grown)
}

func decodeMessages(stored [][]byte) ([]execution.Message, error) {
	messages := make([]execution.Message, len(stored))
	for i, data := range stored {
		var err error
		if messages[i], err = Message(data); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return messages, nil
}
