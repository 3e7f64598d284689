package scripted

import (
	"fmt"
	"net/http"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wire"
)

// failure is what a provider's client would make of the status: the same kinds and codes, so that a script shows what a
// real provider's error leads to.
func failure(scripted agent.ScriptedError) *local.Error {
	kind, code := wire.Classify(scripted.Status)
	err := &local.Error{
		Kind:    kind,
		Code:    code,
		Message: fmt.Sprintf("the model answered %d %s", scripted.Status, http.StatusText(scripted.Status)),
	}
	if kind == local.Transient {
		err.RetryAfter = scripted.RetryAfter
	}
	return err
}
