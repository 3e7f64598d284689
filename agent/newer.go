package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// newerField makes of the decoder's error about a field that it does not know, for which there is no error of its own,
// execution.ErrNewer: what is stored was checked when it was, so only a later release can have written the field.
func newerField(err error) error {
	if err != nil && strings.Contains(err.Error(), "json: unknown field ") {
		return fmt.Errorf("%w: %w", execution.ErrNewer, err)
	}
	return err
}

// Newer reports whether the stored definition names a provider, a type of tool or a backend that no file of this release can
// declare: a later release stored it.
func (d *Definition) Newer() bool {
	providers := []string{"", ProviderOpenAI, ProviderAnthropic, providerScripted}
	if d.Remote() {
		return false
	}
	for i := range 1 + len(d.Model.Fallback) {
		if !slices.Contains(providers, d.Model.At(i).Provider) {
			return true
		}
	}
	return slices.ContainsFunc(d.Tools, func(t Tool) bool { return !slices.Contains(toolTypes(), t.Type) })
}

// toolTypes are the types that this release knows.
func toolTypes() []ToolType { return []ToolType{ToolHTTP, ToolMCP, ToolHuman, ToolAgent, ToolClient} }
