package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/a2arpc"
)

// rpcRequest is a request over JSON-RPC. ID is a number, a text or null, and is sent back as it is.
type rpcRequest struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// rpcResponse is an answer: a result, which may be null, or an error.
type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

type rpcFailure struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   a2arpc.Error    `json:"error"`
}

const (
	maxMethod           = 64
	maxRequestIDBytes   = 256
	contentJSON         = "application/json"
	contentStream       = "text/event-stream"
	acceptsNoOtherLines = "send one request; this version takes no batches"
)

// rpc answers a request to the endpoint of an agent.
func (f *Face) rpc(w http.ResponseWriter, r *http.Request, definition *agent.Definition) {
	request, err := readRequest(r)
	if err != nil {
		f.refuse(w, r, request, err)
		return
	}
	h := &handler{face: f, agent: definition}
	ctx, cancel := context.WithCancel(withLast(r.Context(), r.Header.Get(headerLast)))
	defer cancel()
	var result any
	events, is, err := h.streaming(ctx, request)
	if err == nil && !is {
		result, err = h.call(ctx, request)
	}
	switch {
	case err != nil:
		f.refuse(w, r, request, err)
	case is:
		f.stream(ctx, cancel, w, r, request, events)
	default:
		f.write(w, http.StatusOK, rpcResponse{Version: a2arpc.Version, ID: request.ID, Result: result})
	}
}

// readRequest reads one request. Its ID is set as far as it could be read.
func readRequest(r *http.Request) (rpcRequest, error) {
	request := rpcRequest{ID: json.RawMessage("null")}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return request, fmt.Errorf("%w: the body could not be read", sdk.ErrParseError)
	}
	body = bytes.TrimSpace(body)
	var read rpcRequest
	switch {
	case !json.Valid(body):
		return request, fmt.Errorf("%w: the body is not JSON", sdk.ErrParseError)
	case body[0] != '{':
		return request, fmt.Errorf("%w: %s", sdk.ErrInvalidRequest, acceptsNoOtherLines)
	}
	if err := json.Unmarshal(body, &read); err != nil {
		return request, fmt.Errorf("%w: want the fields jsonrpc, id, method and params", sdk.ErrInvalidRequest)
	}
	if !validRequestID(read.ID) {
		return request, fmt.Errorf("%w: id must be a number or a text of at most %d bytes", sdk.ErrInvalidRequest, maxRequestIDBytes)
	}
	request = read
	version := r.Header.Get(a2arpc.HeaderVersion)
	switch {
	case request.Version != a2arpc.Version:
		return request, fmt.Errorf("%w: jsonrpc must be %q", sdk.ErrInvalidRequest, a2arpc.Version)
	case request.Method == "":
		return request, fmt.Errorf("%w: method is required", sdk.ErrInvalidRequest)
	case version != "" && version != "0.3" && !strings.HasPrefix(version, "0.3."):
		return request, fmt.Errorf("%w: %.16s; this endpoint speaks 0.3", errVersion, version)
	default:
		return request, nil
	}
}

// validRequestID reports whether an id can be sent back: a notification, which has none, has no answer either.
func validRequestID(id json.RawMessage) bool {
	if len(id) == 0 || len(id) > maxRequestIDBytes {
		return false
	}
	c := id[0]
	return c == '"' || c == '-' || '0' <= c && c <= '9'
}

// streaming is the stream that a request asks for, if it asks for one.
func (h *handler) streaming(ctx context.Context, request rpcRequest) (iter.Seq2[sdk.Event, error], bool, error) {
	switch request.Method {
	case a2arpc.Stream:
		params, err := paramsOf[sdk.MessageSendParams](request)
		if err != nil {
			return nil, false, err
		}
		return h.OnSendMessageStream(ctx, params), true, nil
	case a2arpc.Resubscribe:
		params, err := paramsOf[sdk.TaskIDParams](request)
		if err != nil {
			return nil, false, err
		}
		return h.OnResubscribeToTask(ctx, params), true, nil
	default:
		return nil, false, nil
	}
}

// call carries out a request that is answered once.
func (h *handler) call(ctx context.Context, request rpcRequest) (any, error) {
	switch request.Method {
	case a2arpc.Send:
		return callWith(ctx, request, h.OnSendMessage)
	case a2arpc.Get:
		return callWith(ctx, request, h.OnGetTask)
	case a2arpc.Cancel:
		return callWith(ctx, request, h.OnCancelTask)
	case a2arpc.PushSet:
		return callWith(ctx, request, h.OnSetTaskPushConfig)
	case a2arpc.PushGet:
		return callWith(ctx, request, h.OnGetTaskPushConfig)
	case a2arpc.PushList:
		return callWith(ctx, request, h.OnListTaskPushConfig)
	case a2arpc.PushDelete:
		return callWith(ctx, request, func(ctx context.Context, params *sdk.DeleteTaskPushConfigParams) (any, error) {
			return nil, h.OnDeleteTaskPushConfig(ctx, params)
		})
	case a2arpc.ExtendedCard:
		return h.OnGetExtendedAgentCard(ctx)
	default:
		return nil, fmt.Errorf("%w: %.*q; this endpoint speaks A2A 0.3 over JSON-RPC", sdk.ErrMethodNotFound, maxMethod, request.Method)
	}
}

func callWith[P, R any](ctx context.Context, request rpcRequest, f func(context.Context, *P) (R, error)) (any, error) {
	params, err := paramsOf[P](request)
	if err != nil {
		return nil, err
	}
	return f(ctx, params)
}

// paramsOf decodes parameters. Fields that this version of the protocol does not have are passed over, as it asks for.
func paramsOf[P any](request rpcRequest) (*P, error) {
	var params P
	if err := checkParams(request.Method, request.Params); err != nil {
		return nil, err
	}
	if json.Unmarshal(request.Params, &params) != nil { // in the words of the SDK, which name no field
		return nil, fmt.Errorf("%w: params are not those of %s", sdk.ErrInvalidParams, request.Method)
	}
	return &params, nil
}

// refuse answers an error before there is a result. A client that waits for a stream looks for it there, unless the status tells: what is
// of another type some take for a stream without events.
func (f *Face) refuse(w http.ResponseWriter, r *http.Request, request rpcRequest, err error) {
	if _, status := answerOf(err); status != http.StatusOK || !wantsStream(r, request.Method) {
		f.fail(w, r, request.ID, err)
		return
	}
	_ = f.sse(w, request.ID).fail(err) // a client that has gone needs no answer
}

// wantsStream reports whether a client waits for a stream, by the method or else by the only type that it takes.
func wantsStream(r *http.Request, method string) bool {
	accepts := r.Header.Get("Accept")
	return method == a2arpc.Stream || method == a2arpc.Resubscribe ||
		strings.Contains(accepts, contentStream) && !strings.Contains(accepts, contentJSON) && !strings.Contains(accepts, "*/*")
}

// fail answers an error. What went wrong inside is logged and not sent.
func (f *Face) fail(w http.ResponseWriter, r *http.Request, id json.RawMessage, err error) {
	answer, status := answerOf(err)
	if answer.Code == a2arpc.Internal {
		f.cfg.Logger.ErrorContext(r.Context(), "a2a request failed", "path", r.URL.Path, "error", err)
	}
	wait(w.Header(), err)
	f.write(w, status, rpcFailure{Version: a2arpc.Version, ID: id, Error: answer})
}

func (f *Face) write(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError,
			[]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"the server failed"}}`)
	}
	w.Header().Set("Content-Type", contentJSON)
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that has gone needs no answer
}
