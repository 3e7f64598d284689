package execution

// CallerScope is who submitted an execution: comparable, and all that is stored of a caller.
type CallerScope struct {
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

// LocalCaller is the caller of an installation without keys.
func LocalCaller() CallerScope { return CallerScope{Tenant: "default", Subject: "local"} }

// String is an unambiguous text form of the scope.
func (c CallerScope) String() string { return c.Tenant + "\x1f" + c.Subject }
