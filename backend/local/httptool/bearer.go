package httptool

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// sendAs sends r, and once more with another token when the server does not take the one that it carries: a 401 says that nothing
// was done. What is answered then stays. err is why there is no other token although there may be one later.
func (t *Tool) sendAs(ctx context.Context, r request, bearer local.Bearer) (answered *reply, failed *sendError, err error) {
	answered, failed = t.send(ctx, r)
	if failed != nil || answered.status != http.StatusUnauthorized || r.bearer.IsZero() || bearer == nil {
		return answered, failed, nil
	}
	next, err := bearer(ctx, r.bearer)
	if err != nil {
		return nil, nil, err
	}
	if next.Reveal() == r.bearer.Reveal() {
		return answered, nil, nil
	}
	r.bearer = next
	answered, failed = t.send(ctx, r)
	return answered, failed, nil
}

// untaken is a call whose token the server did not take, and for which no other one could be had: a result for the model when
// there will be none.
func (t *Tool) untaken(call execution.ToolCall, err error) (local.Answer, error) {
	var none *local.Error
	if !errors.As(err, &none) || none.Kind != local.Permanent {
		return local.Answer{}, err
	}
	result := t.errorResult(call, fmt.Sprintf("the server of the tool %s does not take the caller's token: %s", t.declared.Name, none.Message))
	return local.Answer{Result: result}, nil
}
