package agent

// The bounds of results.limit. What the model gets of a larger result needs some room.
const (
	minResultLimit = 1 << 10
	maxResultLimit = 8 << 20
)

func parseResults(agent *object) Results {
	o := agent.child("results")
	if o == nil {
		return Results{}
	}
	results := Results{
		Over:  OverLimit(o.choice("over", string(OverRefuse), string(OverRefuse), string(OverTruncate), string(OverStore))),
		Limit: o.size("limit", DefaultResultLimit),
	}
	if results.Limit < minResultLimit || results.Limit > maxResultLimit {
		o.bad("limit", "must be from 1KiB to 8MiB")
	}
	o.refuseUnknown()
	return results
}
