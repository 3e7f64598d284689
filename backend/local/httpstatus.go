package local

import (
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter bounds what a server may wish for.
const maxRetryAfter = 24 * time.Hour

// StatusKind says what may be done about a request whose HTTP status brings no result: Transient when the server took
// nothing (408, 425, 429, 503), Unknown for every other 5xx, behind which it may have been carried out, else Permanent.
func StatusKind(status int) ErrorKind {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return Transient
	}
	if status >= http.StatusInternalServerError {
		return Unknown
	}
	return Permanent
}

// RetryAfter reads the header of that name, a number of seconds or an HTTP date, as a wait of at most a day from now; 0 when
// there is no wish, or none that makes sense.
func RetryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	wish := time.Duration(0)
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		wish = time.Duration(min(seconds, int64(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wish = at.Sub(now)
	}
	return min(max(wish, 0), maxRetryAfter)
}
