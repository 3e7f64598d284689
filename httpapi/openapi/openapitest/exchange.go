package openapitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Exchange is a request and its answer.
type Exchange struct {
	Request *http.Request // its body is not looked at
	Sent    []byte        // the body of the request
	Status  int
	Header  http.Header
	Body    []byte // of the answer; of a stream as much as was read
}

// Check says what is wrong with an exchange.
func (c *Checker) Check(x Exchange) error {
	call := c.Find(x.Request)
	if call == nil {
		return c.nowhere(x)
	}
	response, documented := call.responses[strconv.Itoa(x.Status)]
	if !documented {
		return fmt.Errorf("%s is not documented to answer %d: %s", call.ID, x.Status, clip(x.Body))
	}
	if err := c.headers(response, x.Header); err != nil {
		return fmt.Errorf("%s, %d: %w", call.ID, x.Status, err)
	}
	if x.Request.Method != http.MethodHead {
		if err := c.body(call, response, x); err != nil {
			return fmt.Errorf("%s, %d: %w", call.ID, x.Status, err)
		}
	}
	if x.Status < http.StatusBadRequest {
		if err := c.request(call, x); err != nil {
			return fmt.Errorf("%s was answered with %d and is not documented like this: %w", call.ID, x.Status, err)
		}
	}
	return nil
}

// nowhere checks the answer to a request that no call of the document describes.
func (c *Checker) nowhere(x Exchange) error {
	switch x.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusForbidden, http.StatusUnauthorized, http.StatusTooManyRequests:
	default:
		return fmt.Errorf("%s %s is not documented, and is answered with %d", x.Request.Method, x.Request.URL.Path, x.Status)
	}
	if x.Request.Method == http.MethodHead {
		return nil
	}
	if kind := x.Header.Get("Content-Type"); kind != "application/problem+json" {
		return fmt.Errorf("%s %s: %d comes as %s", x.Request.Method, x.Request.URL.Path, x.Status, kind)
	}
	var problem any
	if err := json.Unmarshal(x.Body, &problem); err != nil {
		return err
	}
	return c.problem.Validate(problem)
}

// unsaid are headers that belong to HTTP and not to the API.
func unsaid() []string {
	return []string{"Date", "Content-Type", "Content-Length", "Connection", "Transfer-Encoding", "Allow"}
}

func (c *Checker) headers(response map[string]any, got http.Header) error {
	kind, _, _ := strings.Cut(got.Get("Content-Type"), ";")
	described, _ := response["headers"].(map[string]any)
	for name, header := range described {
		header := Resolve(c.Document, header)
		values := got.Values(name)
		only, special := header["x-only"].(string)
		switch {
		case special && (only == kind) != (len(values) > 0):
			return fmt.Errorf("header %s belongs to %s", name, only)
		case len(values) == 0 && header["required"] == true:
			return fmt.Errorf("header %s is missing", name)
		case len(values) > 1 && name != "Vary":
			return fmt.Errorf("header %s is there twice", name)
		case len(values) == 0:
			continue
		}
		schema := Resolve(c.Document, header["schema"])
		if want, is := schema["const"]; is && want != values[0] {
			return fmt.Errorf("header %s is %q", name, values[0])
		}
		if pattern, is := schema["pattern"].(string); is && !regexp.MustCompile(pattern).MatchString(values[0]) {
			return fmt.Errorf("header %s is %q", name, values[0])
		}
	}
	for name := range got {
		known := func(other string) bool { return http.CanonicalHeaderKey(other) == name }
		if !slices.ContainsFunc(unsaid(), known) && !slices.ContainsFunc(keys(described), known) {
			return fmt.Errorf("header %s is not documented", name)
		}
	}
	return nil
}

func keys(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	return names
}

// body checks what came, by its media type.
func (c *Checker) body(call *Call, response map[string]any, x Exchange) error {
	content, _ := response["content"].(map[string]any)
	kind := x.Header.Get("Content-Type")
	if len(content) == 0 {
		if len(x.Body) > 0 {
			return fmt.Errorf("has a body: %s", clip(x.Body))
		}
		return nil
	}
	media, known := content[kind].(map[string]any)
	if !known { // parameters matter only where they are described
		plain, _, _ := strings.Cut(kind, ";")
		media, known = content[plain].(map[string]any)
	}
	switch {
	case !known:
		return fmt.Errorf("comes as %s", kind)
	case kind == "text/event-stream":
		return c.stream(x.Body)
	case !strings.Contains(kind, "json") || media["schema"] == nil:
		return nil
	}
	plain := x.Request.Clone(x.Request.Context()) // the validator is particular about paths that need not be ours
	plain.URL = &url.URL{Path: plainPath(call.Path)}
	answer := &http.Response{StatusCode: x.Status, Header: x.Header, Body: io.NopCloser(bytes.NewReader(x.Body)), Request: plain}
	if wrong := c.schemas.answer(plain, answer); wrong != "" {
		return fmt.Errorf("%s in %s", wrong, clip(x.Body))
	}
	return nil
}

// silence is what a stream says without saying anything: a comment, perhaps with the id of an event that was kept back, or when
// to come back.
var silence = regexp.MustCompile(`^(:|id: [0-9]+\n:|retry: [0-9]+)$`)

// plainPath is a path of the call.
func plainPath(template string) string {
	segments := strings.Split(template, "/")
	for i, segment := range segments {
		if strings.HasPrefix(segment, "{") {
			segments[i] = "x"
		}
	}
	return strings.Join(segments, "/")
}

// stream checks each message of a stream, the last one unless it was cut off.
func (c *Checker) stream(text []byte) error {
	messages := strings.Split(string(text), "\n\n")
	for _, message := range messages[:len(messages)-1] {
		if silence.MatchString(message) {
			continue
		}
		fields := map[string]string{}
		for line := range strings.SplitSeq(message, "\n") {
			name, value, ok := strings.Cut(line, ": ")
			if _, twice := fields[name]; !ok || twice || !slices.Contains([]string{"id", "event", "data"}, name) {
				return fmt.Errorf("a stream has the line %q", line)
			}
			fields[name] = value
		}
		var data map[string]any
		if err := json.Unmarshal([]byte(fields["data"]), &data); err != nil {
			return fmt.Errorf("a message of a stream: %w", err)
		}
		if err := c.items.Validate(data); err != nil {
			return fmt.Errorf("a message of a stream, %s: %w", fields["data"], err)
		}
		if fields["event"] != data["type"] {
			return fmt.Errorf("a message of a stream is called %s, and is %v", fields["event"], data["type"])
		}
		if sequence, is := data["sequence"].(float64); fields["id"] != "" && (!is || fields["id"] != strconv.FormatFloat(sequence, 'f', -1, 64)) {
			return fmt.Errorf("a message of a stream has the id %s: %s", fields["id"], fields["data"])
		}
	}
	return nil
}

// request checks a request that was accepted: the document allows it.
func (c *Checker) request(call *Call, x Exchange) error {
	r := x.Request.Clone(x.Request.Context())
	query := r.URL.Query()
	for name, values := range query {
		at := slices.IndexFunc(call.Parameters, func(p map[string]any) bool {
			return p["in"] == "query" && (p["name"] == name || strings.HasPrefix(name, p["name"].(string)+"."))
		})
		switch {
		case values[0] == "": // counts as absent
			query.Del(name)
		case at < 0 && call.Role() != "": // pages and probes pass over what they do not know
			return fmt.Errorf("parameter %s is not documented", name)
		case at >= 0 && call.Parameters[at]["name"] != name: // the validator would make numbers of some of these texts
			if len(values[0]) > 4*512 {
				return fmt.Errorf("parameter %s is too long", name)
			}
			query.Del(name)
		}
	}
	r.URL.RawQuery = query.Encode()
	sent := x.Sent
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == "application/json" && len(sent) > 0 {
		var err error
		if sent, err = WithoutEmpty(sent); err != nil {
			return err
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(sent)), int64(len(sent))
	if wrong := c.schemas.request(r); wrong != "" {
		return fmt.Errorf("%s in %s %s", wrong, r.URL.RawQuery, clip(sent))
	}
	return nil
}

// WithoutEmpty is a JSON object without the members that count as absent.
func WithoutEmpty(body []byte) ([]byte, error) {
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	finite(object)
	return json.Marshal(withoutEmpty(object))
}

// finite puts a number of float64 in the place of those that it does not hold: the API takes them, and the validator does not.
func finite(value any) any {
	switch value := value.(type) {
	case json.Number:
		if _, err := value.Float64(); err != nil {
			return json.Number("1")
		}
	case map[string]any:
		for name, inner := range value {
			value[name] = finite(inner)
		}
	case []any:
		for i, inner := range value {
			value[i] = finite(inner)
		}
	}
	return value
}

func withoutEmpty(object map[string]any) map[string]any {
	free := []string{"outputSchema", "parameters", "content", "answer", "arguments", "result", "metadata"} // the client's own JSON
	kept := map[string]any{}
	for name, value := range object {
		switch value := value.(type) {
		case string:
			if value != "" || name == "text" {
				kept[name] = value
			}
			continue
		case json.Number:
			if n, err := value.Float64(); err != nil || n != 0 || name == "step" || name == "temperature" || name == "topP" {
				kept[name] = value
			}
			continue
		case bool:
			if value {
				kept[name] = value
			}
			continue
		case []any:
			if len(value) == 0 {
				continue
			}
			for i, inner := range value {
				if inner, is := inner.(map[string]any); is {
					value[i] = withoutEmpty(inner)
				}
			}
		case map[string]any:
			if !slices.Contains(free, name) {
				kept[name] = withoutEmpty(value)
				continue
			}
		}
		kept[name] = value
	}
	return kept
}

func clip(body []byte) string {
	const most = 2000
	if len(body) > most {
		return string(body[:most]) + "…"
	}
	return string(body)
}
