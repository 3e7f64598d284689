package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

const fieldBody = "body"

// decode reads the request's body into out, strictly.
func (s *Server) decode(c echo.Context, out any) error {
	if err := checkType(c.Request()); err != nil {
		return err
	}
	body, err := s.body(c)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		return invalid(fieldBody, "must not be empty")
	}
	return decodeStrict(body, out)
}

// decodeOptional reads the request's body into out, strictly, unless it is empty. An empty struct takes no field at all.
func (s *Server) decodeOptional(c echo.Context, out any) error {
	body, err := s.body(c)
	if err != nil || len(body) == 0 {
		return err
	}
	if err := checkType(c.Request()); err != nil {
		return err
	}
	return decodeStrict(body, out)
}

func checkType(r *http.Request) error {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return execution.NewAPIError(execution.UnsupportedMediaType, "must be absent").In("Content-Encoding")
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, has := params["charset"]
	if err != nil || kind != "application/json" || has && !strings.EqualFold(charset, "utf-8") {
		return execution.NewAPIError(execution.UnsupportedMediaType, "must be application/json").In("Content-Type")
	}
	return nil
}

// body reads the whole body, at most MaxBody bytes. Only a body that has come ends its deadline: what is left of another
// one is discarded by net/http before it answers, for as long as that takes.
func (s *Server) body(c echo.Context) ([]byte, error) {
	r := c.Request()
	body, err := io.ReadAll(io.LimitReader(r.Body, s.cfg.MaxBody+1))
	if err != nil {
		return nil, unread(err)
	}
	if int64(len(body)) > s.cfg.MaxBody {
		// A client that is still writing would find its connection cut before it reads the answer.
		_, _ = io.CopyN(io.Discard, r.Body, 8*s.cfg.MaxBody) // an error leaves the same answer
		return nil, execution.NewAPIError(execution.TooLarge, "want at most %d bytes", s.cfg.MaxBody).In(fieldBody)
	}
	_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{}) // not every reader has one
	return body, nil
}

func unread(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return invalid(fieldBody, "was cut short").Because(err)
	}
	return invalid(fieldBody, "could not be read").Because(err)
}
