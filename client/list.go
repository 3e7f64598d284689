package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/pawl-run/pawl/execution"
)

// List returns a page of the executions that the caller may see, newest first; see link.RuntimeLink.
func (c *Client) List(ctx context.Context, query execution.ListQuery) (execution.ListPage, error) {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("state", string(query.State))
	set("agent", query.Agent)
	set("conversationId", string(query.ConversationID))
	set("cursor", query.Cursor)
	for name, value := range query.Metadata {
		values.Set("metadata."+name, value)
	}
	if query.UpdatedSinceMs != 0 {
		values.Set("updatedSince", strconv.FormatInt(query.UpdatedSinceMs, 10))
	}
	if query.Limit != 0 {
		values.Set("limit", strconv.Itoa(query.Limit))
	}
	var page execution.ListPage
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/executions", query: values, repeat: true}, &page)
	return page, err
}

// All is List page by page to the end, as a sequence; the query's limit is the size of its pages. An error is the last
// pair.
func (c *Client) All(ctx context.Context, query execution.ListQuery) iter.Seq2[execution.View, error] {
	return pages(func() ([]execution.View, bool, error) {
		page, err := c.List(ctx, query)
		query.Cursor = page.NextCursor
		return page.Executions, query.Cursor != "", err
	})
}
