package backend

import "errors"

// ErrorKind says what went wrong in a backend.
type ErrorKind string

// The kinds of error.
const (
	ErrorAgentNotFound   ErrorKind = "agent_not_found"
	ErrorExecutionFailed ErrorKind = "execution_failed"
	ErrorRemote          ErrorKind = "remote_error"
	ErrorLoop            ErrorKind = "loop"
)

const (
	agentNotFoundPrefix   = "agent not found: "
	executionFailedPrefix = "execution failed: "
	remoteErrorPrefix     = "remote error: "
)

// Error is why a backend could not carry out an agent.
type Error struct {
	Kind    ErrorKind
	Message string // without the prefix of its kind
	Err     error  // the cause; may be nil unless Kind is ErrorLoop
}

// AgentNotFound is the error of an agent nobody knows.
func AgentNotFound(message string) error {
	return &Error{Kind: ErrorAgentNotFound, Message: message}
}

// ExecutionFailed is the error of a run that could not be carried out.
func ExecutionFailed(message string) error {
	return &Error{Kind: ErrorExecutionFailed, Message: message}
}

// RemoteError is the error of a remote that could not be reached or that refused.
func RemoteError(message string) error { return &Error{Kind: ErrorRemote, Message: message} }

// LoopError is an error of an agent loop, which shows through as it is. It is nil when err is.
func LoopError(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: ErrorLoop, Message: err.Error(), Err: err}
}

// Error is the message behind the prefix of its kind; a loop's error has none.
func (e *Error) Error() string {
	switch e.Kind {
	case ErrorAgentNotFound:
		return agentNotFoundPrefix + e.Message
	case ErrorExecutionFailed:
		return executionFailedPrefix + e.Message
	case ErrorRemote:
		return remoteErrorPrefix + e.Message
	case ErrorLoop:
	}
	return e.Message
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorMessage is the text of a backend's error without the prefix of its kind.
func ErrorMessage(err error) string {
	var failed *Error
	if errors.As(err, &failed) {
		return failed.Message
	}
	return err.Error()
}

var (
	// ErrRunNotFound reports that a CheckpointStore has no run of that id.
	ErrRunNotFound = errors.New("run not found")
	// ErrStorage reports that the end of a root run could not be kept: no event of its end was emitted.
	ErrStorage = errors.New("storage error")
	// ErrResolve reports that the backend of an agent could not be built: no event was emitted.
	ErrResolve = errors.New("resolve agent")
	// ErrUnsupportedBackend reports an endpoint whose kind no factory of this program is keyed by.
	ErrUnsupportedBackend = errors.New("unsupported remote backend")
)

// ConfigError is why an endpoint cannot be used. It prints just its text.
type ConfigError struct{ Text string }

// InvalidConfig is the error of an endpoint that cannot be used. The text carries no secret.
func InvalidConfig(text string) error { return &ConfigError{Text: text} }

// Error is the text.
func (e *ConfigError) Error() string { return e.Text }
