package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// fit makes a result one that ledger and history can hold: within the agent's bound, or an excerpt of what is larger, or
// the refusal of it. The blob, if there is one, is to be written together with the receipt.
func fit(results agent.Results, result execution.ToolResult) (execution.ToolResult, *journal.Blob) {
	results = results.WithDefaults()
	size := int64(len(result.Content))
	switch {
	case result.ErrorKind == execution.ToolTooLarge: // the tool read no more of it
		if results.Over == agent.OverTruncate {
			result.ErrorKind = execution.ToolExecution
		}
		return result, nil
	case size <= results.Limit:
		return result, nil
	case results.Over == agent.OverRefuse:
		return tooLarge(result, results.Limit, "results.limit"), nil
	case results.Over == agent.OverStore && size > journal.MaxBlobBytes:
		return tooLarge(result, journal.MaxBlobBytes, "the most that is stored"), nil
	case results.Over == agent.OverStore:
		sum := sha256.Sum256(result.Content)
		blob := &journal.Blob{Hash: hex.EncodeToString(sum[:]), Content: result.Content}
		result.Blob = &execution.BlobRef{Hash: blob.Hash, Size: size}
		result.Content = excerpt(plain(result.Content), ", stored as blob "+blob.Hash, results.Limit)
		return result, blob
	default:
		result.Content = excerpt(plain(result.Content), "", results.Limit)
		return result, nil
	}
}

func tooLarge(result execution.ToolResult, limit int64, name string) execution.ToolResult {
	return execution.ErrorResult(
		execution.ToolCall{CallID: result.CallID, Name: result.Name}, execution.ToolTooLarge,
		fmt.Sprintf("the result of the tool %s has %d bytes, and %s is %d", result.Name, len(result.Content), name, limit),
	)
}

// refused is the end of a run that got a result which its agent refuses. The receipt says so: a worker that dies before
// the end is written leaves the next one the same.
func (m *machine) refused() (advance, bool) {
	for _, id := range m.state.Batch.callIDs() {
		if result := m.received[id]; result.ErrorKind == execution.ToolTooLarge {
			return m.fail(execution.CodeResultTooLarge, plain(result.Content)), true
		}
	}
	return advance{}, false
}

// plain is the text of a result: a JSON string's own, else the JSON.
func plain(content json.RawMessage) string {
	if len(content) > 0 && content[0] == '"' {
		var text string
		if json.Unmarshal(content, &text) == nil {
			return text
		}
	}
	return string(content)
}

// markerRoom is what the marker of an excerpt may take.
const markerRoom = 192

// excerpt is a JSON string of at most limit bytes: three parts of the text's beginning, one of its end, and in between a
// marker that says how much is left out.
func excerpt(text, note string, limit int64) json.RawMessage {
	room := max(0, int(limit)-markerRoom)
	head := text[:beginning(text, room/4*3)]
	tail := text[ending(text, room/4):]
	if len(head)+len(tail) >= len(text) { // the text is short, only its JSON was long
		tail = text[len(head):]
	}
	left := len(text) - len(head) - len(tail)
	marker := fmt.Sprintf("\n[… %d of %d bytes are left out here%s …]\n", left, len(text), note)
	if left == 0 {
		marker = ""
	}
	out, err := json.Marshal(head + marker + tail)
	if err != nil {
		return json.RawMessage(`""`) // a Go string always encodes
	}
	return out
}

// beginning is how much of text, from its start, fits into room bytes of JSON.
func beginning(text string, room int) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if room -= width(r, n); room < 0 {
			break
		}
		at += n
	}
	return at
}

// ending is where the end of text begins that fits into room bytes of JSON.
func ending(text string, room int) int {
	at := len(text)
	for at > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:at])
		if room -= width(r, n); room < 0 {
			break
		}
		at -= n
	}
	return at
}

// width is the length of a character in a JSON string.
func width(r rune, n int) int {
	switch r {
	case '"', '\\', '\n', '\r', '\t', '\b', '\f':
		return 2
	case '<', '>', '&', '\u2028', '\u2029':
		return 6
	}
	if r < ' ' || r == utf8.RuneError {
		return 6
	}
	return n
}
