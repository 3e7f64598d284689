package link

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// Bounds of a message in parts; the body's own bound holds too.
const (
	maxParts   = 64
	maxPartURL = 2048
)

// imageTypes are the media types that the providers have in common.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// validateParts checks a message that is more than text.
func validateParts(in execution.Input) error {
	if in.Text != "" {
		return invalid("input.text", "does not belong to a message with parts")
	}
	if len(in.Parts) > maxParts {
		return invalid("input.parts", "want at most %d parts, got %d", maxParts, len(in.Parts))
	}
	for i, part := range in.Parts {
		if err := validatePart(fmt.Sprintf("input.parts[%d]", i), part); err != nil {
			return err
		}
	}
	return nil
}

func validatePart(path string, part execution.Part) error {
	own := map[execution.PartType][]string{
		execution.PartText:     {"text"},
		execution.PartImageURL: {"url"},
		execution.PartImage:    {"mediaType", "data"},
	}[part.Type]
	if own == nil {
		if part.Type == "" {
			return required(path + ".type")
		}
		return invalid(path+".type", "want %q, %q or %q", execution.PartText, execution.PartImageURL, execution.PartImage)
	}
	for _, field := range []struct{ name, value string }{
		{"text", part.Text}, {"url", part.URL}, {"mediaType", part.MediaType}, {"data", part.Data},
	} {
		switch belongs := slices.Contains(own, field.name); {
		case belongs && field.value == "":
			return required(path + "." + field.name)
		case !belongs && field.value != "":
			return invalid(path+"."+field.name, "does not belong to a part of type %s", part.Type)
		}
	}
	switch part.Type {
	case execution.PartText:
		return validateLongText(path+".text", part.Text, maxText)
	case execution.PartImageURL:
		return validateImageURL(path+".url", part.URL)
	case execution.PartImage:
		return validateImage(path, part)
	}
	return nil
}

// validateImageURL: the provider fetches the address, which has no password in it; Pawl itself never asks for it.
func validateImageURL(field, text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || len(text) > maxPartURL {
		return invalid(field, "must be an https address of at most %d bytes, without a user", maxPartURL)
	}
	return nil
}

func validateImage(path string, part execution.Part) error {
	if !slices.Contains(imageTypes, part.MediaType) {
		return invalid(path+".mediaType", "want %s", strings.Join(imageTypes, ", "))
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(part.Data)
	if err != nil || len(decoded) == 0 || strings.ContainsAny(part.Data, "\r\n") {
		return invalid(path+".data", "must be base64")
	}
	// A provider refuses an image that is none for good, and with it the whole conversation from then on.
	if http.DetectContentType(decoded) != part.MediaType {
		return invalid(path+".data", "does not begin like %s", part.MediaType)
	}
	return nil
}

// takesImages refuses images for an agent whose model takes text only.
func takesImages(definition *agent.Definition, in execution.Input) error {
	if !definition.Model.NoImages {
		return nil
	}
	for _, part := range in.Parts {
		if part.Type != execution.PartText {
			return invalid("input.parts", "the agent's model takes no images")
		}
	}
	return nil
}

// hashed stands for the bytes of an image in what is kept of a request.
const hashed = "sha256:"

// withoutImages is a request with hashes in place of its images' bytes, which the history has: the row is read with every
// look at the execution.
func withoutImages(r execution.CreateRequest) execution.CreateRequest {
	r.Input.Parts = slices.Clone(r.Input.Parts)
	for i := range r.Input.Parts {
		part := &r.Input.Parts[i]
		if part.Data != "" && !strings.HasPrefix(part.Data, hashed) {
			sum := sha256.Sum256([]byte(part.Data))
			part.Data = hashed + hex.EncodeToString(sum[:])
		}
	}
	return r
}
