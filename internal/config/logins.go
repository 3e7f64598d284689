package config

import (
	"errors"
	"fmt"
)

// Logins bounds how often anybody may try to log in.
type Logins struct {
	// LoginRate leaves room for an office behind one address on a Monday morning.
	LoginRate int      `envconfig:"PAWL_LOGIN_RATE" default:"120" desc:"logins to the dashboard that one address may try in a minute at one process, above which it gets 429; one on the issuer's page counts twice; 0: no limit"`
	Proxies   Networks `envconfig:"PAWL_TRUSTED_PROXIES" desc:"the proxies in front of the API, by comma, such as 10.1.0.0/16: what they say in X-Forwarded-For is taken for the address of whoever logs in or shows a bad credential; none when empty"`
}

// check is asked with whether there is anything to log in with.
func (l *Logins) check(keys bool) error {
	problems := []error{between("PAWL_LOGIN_RATE", int64(l.LoginRate), 0, 1_000_000)}
	if len(l.Proxies) > 0 && !keys {
		problems = append(problems, errors.New("PAWL_TRUSTED_PROXIES needs PAWL_AUTH=keys: without keys nobody comes from elsewhere"))
	}
	for _, network := range l.Proxies {
		if network.Bits() == 0 || network.Addr().Is4In6() {
			problems = append(problems, fmt.Errorf("PAWL_TRUSTED_PROXIES: %s are no proxies: name theirs, such as 10.1.0.0/16", network))
		}
	}
	return errors.Join(problems...)
}
