package execution

import "time"

// How long an execution may be kept after its end: from a second to ten years.
const (
	MinRetention = time.Second
	MaxRetention = 10 * 365 * 24 * time.Hour
)
