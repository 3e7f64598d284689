package linktest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// picture is a valid image, as far as a link looks at it.
func picture() execution.Part {
	return execution.Part{Type: execution.PartImage, MediaType: "image/png", Data: "iVBORw0KGgo="}
}

func withParts(parts ...execution.Part) execution.CreateRequest {
	request := Request("")
	request.Input.Parts = parts
	return request
}

func createParts(t *testing.T, h Harness) {
	text := execution.Part{Type: execution.PartText, Text: "What is this?"}
	link := execution.Part{Type: execution.PartImageURL, URL: "https://example.com/a.png?size=2"}
	created, err := h.Local().Create(bounded(t), "images", withParts(text, link, picture()))
	require.NoError(t, err)
	row, err := h.Store.Get(bounded(t), created.View.ID)
	require.NoError(t, err)
	require.Equal(t, text, row.Request.Input.Parts[0])
	require.Equal(t, link, row.Request.Input.Parts[1])
	require.True(t, strings.HasPrefix(row.Request.Input.Parts[2].Data, "sha256:"), "the bytes are in the history alone")

	again, err := h.Local().Create(bounded(t), "images", withParts(text, link, picture()))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, created.View.ID, again.View.ID)
	other := picture()
	other.Data = "iVBORw0KGgp="
	_, err = h.Local().Create(bounded(t), "images", withParts(text, link, other))
	Refused(t, err, execution.InvalidRequest, "input.parts[2].data")
	other.Data = "iVBORw0KGgoA"
	_, err = h.Local().Create(bounded(t), "images", withParts(text, link, other))
	Refused(t, err, execution.IdempotencyKeyReused, "Idempotency-Key")
}

func createRefusesParts(t *testing.T, h Harness) {
	many := make([]execution.Part, 65)
	for i := range many {
		many[i] = execution.Part{Type: execution.PartText, Text: "x"}
	}
	both := withParts(picture())
	both.Input.Text = "hello"
	blind := withParts(picture())
	blind.Agent = "other"
	image := func(change func(*execution.Part)) execution.CreateRequest {
		part := picture()
		change(&part)
		return withParts(many[0], part)
	}
	address := func(url string) execution.CreateRequest {
		return withParts(execution.Part{Type: execution.PartImageURL, URL: url})
	}
	unchanged(t, h, func() {
		for _, c := range []struct {
			field   string
			request execution.CreateRequest
		}{
			{"input.text", both},
			{"input.parts", withParts(many...)},
			{"input.parts", blind},
			{"input.parts[0].type", withParts(execution.Part{Text: "x"})},
			{"input.parts[0].type", withParts(execution.Part{Type: "video", URL: "https://example.com"})},
			{"input.parts[0].text", withParts(execution.Part{Type: execution.PartText})},
			{"input.parts[0].url", withParts(execution.Part{Type: execution.PartText, Text: "x", URL: "https://example.com"})},
			{"input.parts[0].url", address("")},
			{"input.parts[0].url", address("http://example.com/a.png")},
			{"input.parts[0].url", address("https:///a.png")},
			{"input.parts[0].url", address("https://user:password@example.com/a.png")},
			{"input.parts[0].url", address("file:///etc/passwd")},
			{"input.parts[0].url", address("https://example.com/" + strings.Repeat("x", 2048))},
			{"input.parts[1].text", image(func(p *execution.Part) { p.Text = "x" })},
			{"input.parts[1].mediaType", image(func(p *execution.Part) { p.MediaType = "" })},
			{"input.parts[1].mediaType", image(func(p *execution.Part) { p.MediaType = "image/svg+xml" })},
			{"input.parts[1].data", image(func(p *execution.Part) { p.Data = "" })},
			{"input.parts[1].data", image(func(p *execution.Part) { p.Data = "no base64" })},
			{"input.parts[1].data", image(func(p *execution.Part) { p.Data = "AAAA\nAAAA" })},
			{"input.parts[1].data", image(func(p *execution.Part) { p.Data = "sha256:00" })},
			{"input.parts[1].data", image(func(p *execution.Part) { p.MediaType = "image/jpeg" })},
			{"input.parts[1].data", image(func(p *execution.Part) { p.Data = "PGh0bWw+" })},
		} {
			_, err := h.Local().Create(bounded(t), "", c.request)
			Refused(t, err, execution.InvalidRequest, c.field)
		}
	})
	words := withParts(many[0])
	words.Agent = "other"
	_, err := h.Local().Create(bounded(t), "", words)
	require.NoError(t, err, "a model without images takes text in parts")
}
