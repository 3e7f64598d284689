package backend

// The exact texts of this package that more than one constant or function uses. Stores, clients and people compare them,
// so each of them is written once.
const (
	wordNone          = "none"
	wordSuspended     = "suspended"
	wordError         = "error"
	wordCanceled      = "canceled"
	wordTimeout       = "timeout"
	wordRateLimit     = "rate_limit"
	wordManualPause   = "manual_pause"
	wordNatural       = "natural"
	wordContinuation  = "continuation"
	wordInputRequired = "input_required"
	wordAuthRequired  = "auth_required"
	wordUserRequired  = "user_input_required"
	stoppedPrefix     = "stopped:"
	blockedPrefix     = "blocked:"
	textSeparator     = ": "
)

// AwaitingTasks is the status reason of a run that goes on at its remote and is to be asked about again.
const AwaitingTasks = "awaiting_tasks"
