package executor

import (
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// afterPrepareModelRequest opens a model request. The transcript itself is put together when it is sent: the claim of that
// step brings the history, so that it is read once.
func (m *machine) afterPrepareModelRequest() advance {
	if over := m.noRoomForRequest(); over != "" { // no request is announced that cannot be sent
		return m.limit(over, nil)
	}
	m.state.InvocationID = fmt.Sprintf("inv_%d", m.step+1)
	a := m.next(BeforeModelRequest)
	a.events = []execution.Payload{
		execution.ModelStarted{Turn: m.state.Turn, InvocationID: m.state.InvocationID},
	}
	return a
}
