package link

import (
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/execution"
)

// Bounds of a submission. Texts are counted in bytes, names in characters.
const (
	maxKey           = 256
	maxText          = execution.MaxResponseLength
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
	maxAgentName     = 256
	maxTimeMs        = 253_402_300_799_999 // the last millisecond of the year 9999
)

// fieldKey is where an idempotency key travels.
const fieldKey = "Idempotency-Key"

func required(field string) error { return invalid(field, "%s is required", field) }

func validateKey(key string) error {
	if n := utf8.RuneCountInString(key); n > maxKey {
		return invalid(fieldKey, "want 1 to %d characters, got %d", maxKey, n)
	}
	if !utf8.ValidString(key) {
		return invalid(fieldKey, "must be valid UTF-8")
	}
	for _, r := range key {
		if !unicode.IsPrint(r) {
			return invalid(fieldKey, "must hold printable characters only")
		}
	}
	return nil
}

// normalize checks a submission and fills in its defaults, so that two requests which mean the same are the same.
func normalize(r execution.CreateRequest) (execution.CreateRequest, error) {
	if r.OnBusy == "" {
		r.OnBusy = execution.BusyReject
	}
	if r.Priority == "" {
		r.Priority = execution.Normal
	}
	if len(r.Metadata) == 0 {
		r.Metadata = nil
	}
	r = normalizeOverrides(r)
	checks := []func(execution.CreateRequest) error{
		validateAgent, validateMessage, validateConversation, validateOnBusy, validateMetadata, validatePriority, validateStart,
		validateRetention, validateDelegation, validateOverrides,
	}
	for _, check := range checks {
		if err := check(r); err != nil {
			return r, err
		}
	}
	return r, nil
}

func validateAgent(r execution.CreateRequest) error {
	switch {
	case r.Agent == "":
		return required("agent")
	case len(r.Agent) > maxAgentName:
		return invalid("agent", "want at most %d bytes", maxAgentName)
	default:
		return nil
	}
}

func validateMessage(r execution.CreateRequest) error {
	in := r.Input
	switch {
	case in.Type == "":
		return required("input.type")
	case in.Type != execution.UserMessage:
		return invalid("input.type", "must be %q", execution.UserMessage)
	}
	if err := foreign(in, "text", "parts"); err != nil {
		return err
	}
	if len(in.Parts) > 0 {
		return validateParts(in)
	}
	return validateText(in.Text)
}

func validateText(text string) error {
	switch {
	case text == "":
		return required("input.text")
	case len(text) > maxText:
		return invalid("input.text", "want at most %d bytes", maxText)
	case !utf8.ValidString(text):
		return invalid("input.text", "must be valid UTF-8")
	default:
		return nil
	}
}

func validateConversation(r execution.CreateRequest) error {
	if r.ConversationID == "" {
		return nil
	}
	if _, err := execution.ParseConversationID(string(r.ConversationID)); err != nil {
		return invalid("conversationId", "%v", err).Because(err)
	}
	return nil
}

func validateOnBusy(r execution.CreateRequest) error {
	switch r.OnBusy {
	case execution.BusyReject, execution.BusyEnqueue, execution.BusyInterrupt, execution.BusyRollback:
		return nil
	default:
		return invalid("onBusy", "want %q, %q, %q or %q",
			execution.BusyReject, execution.BusyEnqueue, execution.BusyInterrupt, execution.BusyRollback)
	}
}

func validateMetadata(r execution.CreateRequest) error {
	if len(r.Metadata) > maxMetadata {
		return invalid("metadata", "want at most %d entries, got %d", maxMetadata, len(r.Metadata))
	}
	for key, value := range r.Metadata {
		if n := utf8.RuneCountInString(key); n < 1 || n > maxMetadataKey || !utf8.ValidString(key) {
			return invalid("metadata", "want keys of 1 to %d characters, got one of %d", maxMetadataKey, n)
		}
		if n := utf8.RuneCountInString(value); n > maxMetadataValue || !utf8.ValidString(value) {
			return invalid("metadata."+key, "want at most %d characters, got %d", maxMetadataValue, n)
		}
	}
	return nil
}

func validatePriority(r execution.CreateRequest) error {
	switch r.Priority {
	case execution.High, execution.Normal, execution.Low:
		return nil
	default:
		return invalid("priority", "want %q, %q or %q", execution.High, execution.Normal, execution.Low)
	}
}

func validateRetention(r execution.CreateRequest) error {
	least, most := execution.MinRetention.Milliseconds(), execution.MaxRetention.Milliseconds()
	if r.RetentionMs != 0 && (r.RetentionMs < least || r.RetentionMs > most) {
		return invalid("retentionMs", "want milliseconds from %d to %d, which is ten years", least, most)
	}
	return nil
}

func validateStart(r execution.CreateRequest) error {
	if r.StartAtMs < 0 || r.StartAtMs > maxTimeMs {
		return invalid("startAtMs", "want milliseconds since 1970, from 0 to %d", int64(maxTimeMs))
	}
	return nil
}
