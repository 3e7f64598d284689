package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/pawl-run/pawl/execution"
)

// Messages returns a page of an execution's history from index from on; see link.RuntimeLink.
func (c *Client) Messages(ctx context.Context, id execution.ID, from, limit int) (execution.MessagePage, error) {
	var page execution.MessagePage
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: executionPath(id, "/messages"), query: pageQuery(strconv.Itoa(from), limit), repeat: true,
	}, &page)
	return page, err
}

// AllMessages is Messages page by page to the end of the history, as a sequence, oldest first. An error is the last pair.
func (c *Client) AllMessages(
	ctx context.Context, id execution.ID, from int,
) iter.Seq2[execution.HistoryMessage, error] {
	return pages(func() ([]execution.HistoryMessage, bool, error) {
		page, err := c.Messages(ctx, id, from, pageSize)
		from = page.NextFrom
		return page.Messages, page.HasMore, err
	})
}

// Checkpoints returns a page of an execution's checkpoints from step from on; see link.RuntimeLink.
func (c *Client) Checkpoints(
	ctx context.Context, id execution.ID, from execution.Step, limit int,
) (execution.CheckpointPage, error) {
	var page execution.CheckpointPage
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: executionPath(id, "/checkpoints"),
		query: pageQuery(strconv.FormatUint(uint64(from), 10), limit), repeat: true,
	}, &page)
	return page, err
}

// AllCheckpoints is Checkpoints page by page up to the newest, as a sequence. An error is the last pair.
func (c *Client) AllCheckpoints(
	ctx context.Context, id execution.ID, from execution.Step,
) iter.Seq2[execution.Checkpoint, error] {
	return pages(func() ([]execution.Checkpoint, bool, error) {
		page, err := c.Checkpoints(ctx, id, from, pageSize)
		from = page.NextFrom
		return page.Checkpoints, page.HasMore, err
	})
}

// ToolCalls returns a page of an execution's tool calls as the ledger has them; see link.RuntimeLink.
func (c *Client) ToolCalls(
	ctx context.Context, id execution.ID, after execution.Sequence, limit int,
) (execution.ToolCallPage, error) {
	var page execution.ToolCallPage
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: executionPath(id, "/tool-calls"), repeat: true,
		query: url.Values{"after": {formatSequence(after)}, "limit": {strconv.Itoa(limit)}},
	}, &page)
	return page, err
}

// AllToolCalls is ToolCalls page by page up to the newest, as a sequence. An error is the last pair.
func (c *Client) AllToolCalls(
	ctx context.Context, id execution.ID, after execution.Sequence,
) iter.Seq2[execution.LedgerEntry, error] {
	return pages(func() ([]execution.LedgerEntry, bool, error) {
		page, err := c.ToolCalls(ctx, id, after, pageSize)
		after = page.NextAfter
		return page.ToolCalls, page.HasMore, err
	})
}

// Why says what the execution waits for, and what happens next by itself.
func (c *Client) Why(ctx context.Context, id execution.ID) (execution.Why, error) {
	var why execution.Why
	_, err := c.do(ctx, call{method: http.MethodGet, path: executionPath(id, "/why"), repeat: true}, &why)
	return why, err
}

// pageSize is how much the sequences ask for at once.
const pageSize = 100

func pageQuery(from string, limit int) url.Values {
	return url.Values{"from": {from}, "limit": {strconv.Itoa(limit)}}
}

// pages is the sequence of what the pages hold that next gives, up to the one that has none behind it.
func pages[T any](next func() (page []T, more bool, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for more := true; more; {
			var page []T
			var err error
			if page, more, err = next(); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range page {
				if !yield(one, nil) {
					return
				}
			}
		}
	}
}
