package execution

import "unicode/utf8"

// MaxEventText bounds every text in an event, in bytes: what is longer is cut, and the view has the whole.
const MaxEventText = 32 << 10

// MaxRetryText bounds the message of a failed attempt, in bytes: there may be four for each step.
const MaxRetryText = 512

// maxDetail bounds the detail of a problem, in bytes: some repeat what was sent, a pattern of a schema for instance.
const maxDetail = 2 << 10

// clipped ends a text that was cut.
const clipped = "…"

// ClipEventText cuts a text to what an event may hold.
func ClipEventText(text string) string { return clip(text, MaxEventText) }

// ClipRetryText cuts the message of a failed attempt.
func ClipRetryText(text string) string { return clip(text, MaxRetryText) }

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len(clipped)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + clipped
}

// clipDetail cuts a long text in its middle: what it is about stands at its beginning, and often why at its end.
func clipDetail(text string) string {
	if len(text) <= maxDetail {
		return text
	}
	head, tail := maxDetail/2, len(text)-maxDetail/2+len(clipped)
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + clipped + text[tail:]
}
