package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// anyName ends a known parameter of which there may be several, each with a name of its own.
const anyName = ".NAME"

// parameters are the query parameters of a request, each known, given once, and not empty.
func parameters(c echo.Context, known ...string) (url.Values, error) {
	query, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return nil, invalid("query", "cannot be decoded").Because(err)
	}
	for name, values := range query {
		if !slices.ContainsFunc(known, func(k string) bool { return k == name || named(name, k) != "" }) {
			text := "there are no parameters here"
			if len(known) > 0 {
				text = "there is no such parameter here; there is " + strings.Join(known, ", ")
			}
			return nil, execution.NewAPIError(execution.UnknownField, "%s", text).In(join("", name))
		}
		if len(values) > 1 {
			return nil, invalid(name, "is given twice")
		}
		if values[0] == "" && named(name, paramMetadata) == "" {
			// An empty value is a client's unset variable more often than not: left out, it would widen what is meant.
			return nil, invalid(name, "must not be empty: leave it out")
		}
	}
	return query, nil
}

// named is the name that a parameter gives behind the common part of a known one: of metadata.order it is order. Empty for
// another parameter.
func named(parameter, known string) string {
	common, any := strings.CutSuffix(known, anyName)
	name, is := strings.CutPrefix(parameter, common+".")
	if !any || !is {
		return ""
	}
	return name
}

// executionID is the id of the path.
func executionID(c echo.Context) (execution.ID, error) {
	id, err := execution.ParseID(c.Param("id"))
	if err != nil {
		return "", invalid("id", "not an execution id").Because(err)
	}
	return id, nil
}

func sequence(field, value string) (execution.Sequence, error) {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil {
		return 0, invalid(field, "must be a number, 0 or above").Because(err)
	}
	return execution.Sequence(n), nil
}

// cursor is where a reader of events stands. Last-Event-ID is newer than after: a browser repeats the address it first
// opened.
func cursor(r *http.Request, query url.Values) (execution.Sequence, error) {
	var after execution.Sequence
	var err error
	if query.Has("after") {
		if after, err = sequence("after", query.Get("after")); err != nil {
			return 0, err
		}
	}
	if last := r.Header.Values("Last-Event-Id"); len(last) > 0 {
		return sequence("Last-Event-ID", last[0])
	}
	return after, nil
}

// cursorNamed names what the client sent in an error about where it stands.
func cursorNamed(r *http.Request, err error) error {
	var problem *execution.APIError
	if errors.As(err, &problem) && problem.Field == "after" && len(r.Header.Values("Last-Event-Id")) > 0 {
		return problem.In("Last-Event-ID")
	}
	return err
}

// limit is the size of a page. Above MaxLimit it is MaxLimit.
func limit(query url.Values) (int, error) {
	if !query.Has("limit") {
		return link.DefaultLimit, nil
	}
	n, err := strconv.Atoi(query.Get("limit"))
	if err != nil || n < 1 {
		return 0, invalid("limit", "must be a number, 1 or above")
	}
	return min(n, link.MaxLimit), nil
}

// wait is how long a reader wants to wait, 0 for not at all, and the version it knows. Above MaxWait it is MaxWait.
func wait(query url.Values) (d time.Duration, version uint64, err error) {
	if query.Has("version") {
		if version, err = strconv.ParseUint(query.Get("version"), 10, 63); err != nil {
			return 0, 0, invalid("version", "must be a number, 0 or above").Because(err)
		}
		if !query.Has("wait") {
			return 0, 0, invalid("version", "needs wait")
		}
	}
	if !query.Has("wait") {
		return 0, version, nil
	}
	d, err = time.ParseDuration(query.Get("wait"))
	if err != nil || d < 0 {
		return 0, 0, invalid("wait", "must be a duration like 30s, 0s or above")
	}
	return min(d, link.MaxWait), version, nil
}

// idempotencyKey is the request's key, empty when it has none. The link checks what it holds.
func idempotencyKey(r *http.Request) (string, error) {
	const name = "Idempotency-Key"
	values := r.Header.Values(name)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", invalid(name, "is given twice")
	case values[0] == "":
		return "", invalid(name, "want 1 to 256 characters, got 0")
	default:
		return values[0], nil
	}
}
