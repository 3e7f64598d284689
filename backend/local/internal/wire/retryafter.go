package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestWait bounds what a server may ask for.
const longestWait = 24 * time.Hour

// windows are the pairs of headers that say how much of a rate is left and when it is full again. They are sent with every
// answer; only an exhausted one is a reason to wait.
var windows = [...][2]string{
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
}

// retryAfter is how long the server wants to be left alone, 0 when it does not say.
func retryAfter(header http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(header.Get("Retry-After-Ms")), 64); err == nil && ms > 0 {
		return bounded(ms / 1000)
	}
	if wait := moment(header.Get("Retry-After"), now); wait > 0 {
		return wait
	}
	var longest time.Duration
	for _, window := range windows {
		if strings.TrimSpace(header.Get(window[0])) == "0" {
			longest = max(longest, moment(header.Get(window[1]), now))
		}
	}
	return longest
}

// moment reads seconds, a duration such as 6m0s, a date of HTTP or RFC 3339, or a time in seconds or milliseconds since
// 1970, as the wait from now; 0 for anything else and for the past.
func moment(text string, now time.Time) time.Duration {
	const secondsSince1970, millisSince1970 = 1e9, 1e12
	text = strings.TrimSpace(text)
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case number >= millisSince1970:
			return bounded(number/1000 - float64(now.UnixMilli())/1000)
		case number >= secondsSince1970:
			return bounded(number - float64(now.UnixMilli())/1000)
		}
		return bounded(number)
	}
	if wait, err := time.ParseDuration(text); err == nil {
		return bounded(wait.Seconds())
	}
	if at, err := http.ParseTime(text); err == nil {
		return bounded(at.Sub(now).Seconds())
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return bounded(at.Sub(now).Seconds())
	}
	return 0
}

func bounded(seconds float64) time.Duration {
	if !(seconds > 0) { // no number neither
		return 0
	}
	if seconds >= longestWait.Seconds() {
		return longestWait
	}
	return time.Duration(seconds * float64(time.Second))
}
