package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASchemaWhosePatternsAreTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	many := make([]string, 4000)
	for i := range many {
		many[i] = fmt.Sprintf(`"((x{30}){30})%d":{}`, i)
	}
	for _, text := range []string{
		`{"pattern":"` + strings.Repeat(`(\\p{L}{300})`, 4000) + `"}`,
		`{"patternProperties":{` + strings.Join(many, ",") + `}}`,
		`{"pattern":"((a{10}){10}){10}","items":{"pattern":"` + strings.Repeat("b", maxPatternSize) + `"}}`,
	} {
		_, err := CompileSchema(json.RawMessage(text))
		require.ErrorContains(t, err, "too large", text[:40])
	}
	_, err := CompileSchema(json.RawMessage(`{"pattern":"("}`))
	require.Error(t, err)
	schema, err := CompileSchema(json.RawMessage(`{"type":"string","pattern":"^[a-z]{1,900}(-\\p{L}+){0,9}$"}`))
	require.NoError(t, err)
	require.NoError(t, schema.Validate("abc-Ødegård"))
	require.Error(t, schema.Validate("ABC"))
}

func TestAPatternThatIsAValueIsBoundedByItself(t *testing.T) {
	t.Parallel()
	schema, err := CompileSchema(json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","format":"regex"}`))
	require.NoError(t, err)
	for range 5 {
		require.NoError(t, schema.Validate(strings.Repeat("a", maxPatternSize/2)))
		require.Error(t, schema.Validate(strings.Repeat("a", maxPatternSize+1)))
	}
}
