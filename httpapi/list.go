package httpapi

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

const paramMetadata = "metadata" + anyName

func (s *Server) list(c echo.Context) error {
	if _, err := negotiate(c.Request(), typeJSON); err != nil {
		return err
	}
	values, err := parameters(c, "state", "agent", "conversationId", paramMetadata, "updatedSince", "limit", "cursor")
	if err != nil {
		return err
	}
	query, err := listQuery(values)
	if err != nil {
		return err
	}
	page, err := s.link(c).List(c.Request().Context(), query)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, page)
}

// listQuery reads the parameters; the link checks what they hold.
func listQuery(values url.Values) (query execution.ListQuery, err error) {
	query = execution.ListQuery{
		State: execution.State(values.Get("state")), Agent: values.Get("agent"),
		ConversationID: execution.ConversationID(values.Get("conversationId")), Cursor: values.Get("cursor"),
	}
	if query.Limit, err = limit(values); err != nil {
		return query, err
	}
	if text := values.Get("updatedSince"); text != "" {
		if query.UpdatedSinceMs, err = strconv.ParseInt(text, 10, 64); err != nil {
			return query, invalid("updatedSince", "must be an instant in milliseconds").Because(err)
		}
	}
	for parameter := range values {
		if name := named(parameter, paramMetadata); name != "" {
			if query.Metadata == nil {
				query.Metadata = make(map[string]string)
			}
			query.Metadata[name] = values.Get(parameter)
		}
	}
	return query, nil
}
