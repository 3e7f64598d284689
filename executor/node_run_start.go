package executor

// afterRunStart enters the loop.
func (m *machine) afterRunStart() advance { return m.nextTurn() }
