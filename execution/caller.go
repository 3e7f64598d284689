package execution

// CallerScope is who submitted an execution: comparable, and all that is stored of a caller.
type CallerScope struct {
	Tenant  string `json:"tenant"`
	Subject string `json:"subject"`
}

// LocalCaller is the caller of an installation without keys.
func LocalCaller() CallerScope { return CallerScope{Tenant: "default", Subject: "local"} }

// AllTenants is the tenant of a caller that belongs to none and sees the executions of all: the on-call view. It may not
// submit, and no execution is its own.
const AllTenants = "*"

// Sees reports whether what the other caller submitted may be shown to somebody of this caller's tenant.
func (c CallerScope) Sees(other CallerScope) bool {
	return c.Tenant == AllTenants || c.Tenant == other.Tenant
}

// String is an unambiguous text form of the scope.
func (c CallerScope) String() string { return c.Tenant + "\x1f" + c.Subject }
