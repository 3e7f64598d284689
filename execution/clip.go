package execution

import "unicode/utf8"

// MaxEventText bounds every text in an event, in bytes: what is longer is cut, and the view has the whole.
const MaxEventText = 32 << 10

// clipped ends a text that was cut.
const clipped = "…"

// ClipEventText cuts a text to what an event may hold.
func ClipEventText(text string) string {
	if len(text) <= MaxEventText {
		return text
	}
	end := MaxEventText - len(clipped)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + clipped
}
