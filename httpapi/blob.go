package httpapi

import (
	"bytes"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
)

// blob answers with a stored result: JSON, which never changes, so that its hash is its entity tag. Ranges are served.
func (s *Server) blob(c echo.Context) error {
	id, err := addressed(c)
	if err != nil {
		return err
	}
	if err := oneRange(c.Request()); err != nil {
		return err
	}
	hash := c.Param("hash")
	content, err := s.link(c).Blob(c.Request().Context(), id, hash)
	if err != nil {
		return err
	}
	if first := firstByte(c.Request()); first > 0 && first >= len(content) {
		return invalid(headerRange, "begins behind the end, which is at %d bytes", len(content))
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, typeJSON)
	header.Set("ETag", `"`+hash+`"`)
	header.Set("Cache-Control", "private, no-cache") // who asks again is to be the same caller, and gets 304
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(content))
	return nil
}

const headerRange = "Range"

// ranges are those that are served: one, with a beginning or an end.
var ranges = regexp.MustCompile(`^bytes=(?:([0-9]{1,9})-([0-9]{1,9})?|-[0-9]{0,8}[1-9][0-9]{0,8})$`)

// oneRange refuses the headers of a request for a part that would be answered otherwise than in JSON, or be ignored.
func oneRange(r *http.Request) error {
	for _, name := range []string{"If-Match", "If-Range", "If-Unmodified-Since"} {
		if len(r.Header.Values(name)) > 0 {
			return invalid(name, "is not supported: what is stored never changes")
		}
	}
	asked := r.Header.Values(headerRange)
	if len(asked) == 0 {
		return nil
	}
	match := ranges.FindStringSubmatch(asked[0])
	if len(asked) > 1 || match == nil || match[2] != "" && number(match[2]) < number(match[1]) {
		return invalid(headerRange, "want one range of bytes, like bytes=0-99, bytes=100- or bytes=-100")
	}
	return nil
}

// firstByte is where a range that oneRange lets pass begins; 0 when there is none or it is counted from the end.
func firstByte(r *http.Request) int {
	match := ranges.FindStringSubmatch(r.Header.Get(headerRange))
	if match == nil {
		return 0
	}
	return number(match[1])
}

// number is a few digits; 0 for none.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
