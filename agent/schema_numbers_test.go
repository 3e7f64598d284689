package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// outOfRange are numbers that JSON allows and that cost whoever writes them out in full a second each, or a panic.
func outOfRange() []string {
	return []string{
		"1e401", "1E+1000000", "-1e-1000000", "1e20000000", "1e-20000000", "1e99999999999999999999",
		strings.Repeat("1", maxNumberSize+1),
	}
}

func TestASchemaWithANumberOutOfRangeIsRefused(t *testing.T) {
	t.Parallel()
	for _, number := range outOfRange() {
		for _, text := range []string{
			`{"type":"number","maximum":` + number + `}`, `{"items":{"multipleOf":` + number + `}}`, `{"enum":["a",[` + number + `]]}`,
			`{"minLength":` + number + `}`,
		} {
			_, err := CompileSchema(json.RawMessage(text))
			require.ErrorContains(t, err, "the number ", text)
		}
	}
	_, err := CompileSchema(json.RawMessage(`{"enum":[1e400, -1.5E-400, 0.1e+3, 12345678901234567890123]}`))
	require.NoError(t, err)
}

func TestAValueWithANumberOutOfRangeFitsNoSchema(t *testing.T) {
	t.Parallel()
	schema, err := CompileSchema(json.RawMessage(`{"type":"array","items":{"maximum":5,"multipleOf":0.5}}`))
	require.NoError(t, err)
	for _, number := range outOfRange() {
		require.ErrorContains(t, schema.Validate([]any{json.Number("1"), json.Number(number)}), "the number ", number)
	}
	require.NoError(t, schema.Validate([]any{json.Number("1e0"), json.Number("-1.5e2")}))
}
