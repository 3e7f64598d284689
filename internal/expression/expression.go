// Package expression evaluates the conditions of agent files: expressions of the Common Expression Language (CEL) over the
// arguments of one tool call, named arguments.
//
// A condition is compiled once and evaluated often, by many goroutines at once. Its cost is bounded, whatever the
// arguments are: they come from a model. The package must not know what follows from a condition; an evaluation that
// fails says so, and whoever asked decides on the safe side.
package expression

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
)

// Bounds of a condition. MaxCost is in CEL's own units, about one for each value that is looked at.
const (
	MaxLength = 4096 // bytes of the text
	MaxCost   = 100_000
)

// checkEvery is after how many steps of a loop inside an expression it is looked whether to go on.
const checkEvery = 1000

// ErrNotBoolean reports an expression that cannot be, or was not, true or false.
var ErrNotBoolean = errors.New("is not true or false")

// Condition is a compiled expression. It may be used by many goroutines.
type Condition struct {
	program cel.Program // immutable
}

// Compile makes an expression ready. Errors are one line and name what is wrong with the text, and where in it.
func Compile(text string) (*Condition, error) {
	if len(text) > MaxLength {
		return nil, fmt.Errorf("the expression is longer than %d bytes", MaxLength)
	}
	env, err := cel.NewEnv(cel.Variable("arguments", cel.MapType(cel.StringType, cel.DynType)))
	if err != nil {
		return nil, fmt.Errorf("the language cannot be set up: %w", err)
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, firstIssue(issues, err)
	}
	if kind := ast.OutputType(); !kind.IsExactType(cel.BoolType) && !kind.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("the expression %w: it is of type %s", ErrNotBoolean, kind)
	}
	program, err := env.Program(ast,
		cel.EvalOptions(cel.OptOptimize), cel.CostLimit(MaxCost), cel.InterruptCheckFrequency(checkEvery))
	if err != nil {
		return nil, fmt.Errorf("the expression cannot be prepared: %w", err)
	}
	return &Condition{program: program}, nil
}

// firstIssue is the first thing that is wrong, with its line and column in the text.
func firstIssue(issues *cel.Issues, err error) error {
	found := issues.Errors()
	if len(found) == 0 {
		return fmt.Errorf("the expression is not valid: %w", err)
	}
	message, _, _ := strings.Cut(found[0].Message, "\n")
	at := found[0].Location
	return fmt.Errorf("the expression is not valid: line %d, column %d: %s", at.Line(), at.Column()+1, message)
}

// Holds evaluates the condition over a call's arguments, a JSON object. Numbers are doubles, as in JSON. An error says
// that nobody knows: the arguments are no object, a key is not there, the types do not fit, it costs too much, or ctx has
// ended.
func (c *Condition) Holds(ctx context.Context, arguments json.RawMessage) (bool, error) {
	var values map[string]any
	if err := json.Unmarshal(arguments, &values); err != nil {
		return false, fmt.Errorf("the arguments are no object: %w", err)
	}
	if values == nil {
		values = map[string]any{}
	}
	result, _, err := c.program.ContextEval(ctx, map[string]any{"arguments": values})
	if err != nil {
		return false, fmt.Errorf("the expression cannot be evaluated: %w", err)
	}
	held, ok := result.(types.Bool)
	if !ok {
		return false, fmt.Errorf("the expression %w: it is of type %s", ErrNotBoolean, result.Type().TypeName())
	}
	return bool(held), nil
}
