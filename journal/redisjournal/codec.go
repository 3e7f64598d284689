package redisjournal

// systemPayloads are events that scripts write on their own.
type systemPayloads struct{ canceled, paused string }

func encodeSystemPayloads() (systemPayloads, error) { return systemPayloads{}, nil }
