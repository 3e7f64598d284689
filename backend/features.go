package backend

// The features a request may need, as the refusals name them.
const (
	featureDecisions           = "decisions"
	featureOverrides           = "overrides"
	featureFrontendTools       = "frontend_tools"
	featureContinuation        = wordContinuation
	featureDelegatePersistence = "delegate_persistence"
)

// UnsupportedRootFeatures are the features that the request needs and the backend does not have, always in the same order.
func (c Capabilities) UnsupportedRootFeatures(request RootRunRequest) []string {
	var unsupported []string
	if (len(request.Decisions) > 0 || request.Control.Decisions != nil) && !c.Decisions {
		unsupported = append(unsupported, featureDecisions)
	}
	if request.Overrides != nil && !c.Overrides {
		unsupported = append(unsupported, featureOverrides)
	}
	if len(request.FrontendTools) > 0 && !c.FrontendTools {
		unsupported = append(unsupported, featureFrontendTools)
	}
	if request.IsContinuation && c.Continuation == ContinuationNone {
		unsupported = append(unsupported, featureContinuation)
	}
	return unsupported
}

// UnsupportedDelegateFeatures is the same for a delegate. A policy that did not come from DefaultDelegatePolicy needs what
// no ephemeral run has.
func (c Capabilities) UnsupportedDelegateFeatures(request DelegateRunRequest) []string {
	var unsupported []string
	if request.Policy.Persistence != Ephemeral {
		unsupported = append(unsupported, featureDelegatePersistence)
	}
	if request.Policy.Continuation != ContinuationDisabled && c.Continuation == ContinuationNone {
		unsupported = append(unsupported, featureContinuation)
	}
	return unsupported
}
