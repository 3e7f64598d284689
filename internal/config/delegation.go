package config

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Delegation says how executions may act for those who submitted them. API, worker and reaper of an installation should
// agree on it.
type Delegation struct {
	DelegationTokenURL     string        `envconfig:"PAWL_DELEGATION_TOKEN_URL" desc:"where callers' tokens are exchanged for an execution's own (RFC 8693); no delegation when empty"`
	DelegationRevokeURL    string        `envconfig:"PAWL_DELEGATION_REVOKE_URL" desc:"where they are revoked (RFC 7009); when empty they run out by themselves"`
	DelegationClientID     string        `envconfig:"PAWL_DELEGATION_CLIENT_ID" desc:"the client that Pawl is at that server"`
	DelegationClientSecret Secret        `envconfig:"PAWL_DELEGATION_CLIENT_SECRET" desc:"its secret"`
	DelegationSubjectType  string        `envconfig:"PAWL_DELEGATION_SUBJECT_TYPE" default:"access_token" desc:"what callers' tokens are: access_token, id_token or jwt"`
	DelegationRequestType  string        `envconfig:"PAWL_DELEGATION_REQUEST_TYPE" default:"access_token" desc:"what is asked for: access_token or refresh_token; some servers give what a long execution is renewed with only for refresh_token"`
	DelegationAudiences    []string      `envconfig:"PAWL_DELEGATION_AUDIENCES" desc:"the audiences, by comma, that executions may ask for; the first one is the default"`
	DelegationResources    []string      `envconfig:"PAWL_DELEGATION_RESOURCES" desc:"the resources, by comma, that executions may ask for"`
	DelegationScopes       []string      `envconfig:"PAWL_DELEGATION_SCOPES" desc:"the scopes, by comma, that executions may ask for; all of them are the default"`
	DelegationKeys         Secret        `envconfig:"PAWL_DELEGATION_KEYS" desc:"32 random bytes in base64 that tokens are sealed with (openssl rand -base64 32); several, by comma, to change them: the first one seals"`
	DelegationKeysFile     string        `envconfig:"PAWL_DELEGATION_KEYS_FILE" desc:"a file that holds them, one a line, in place of PAWL_DELEGATION_KEYS"`
	DelegationStaticToken  Secret        `envconfig:"PAWL_DELEGATION_STATIC_TOKEN" desc:"one token for all executions, in place of an exchange: for development"`
	DelegationTimeout      time.Duration `envconfig:"PAWL_DELEGATION_TIMEOUT" default:"10s" desc:"how long the server may take to answer"`
}

func (d *Delegation) check() error {
	exchange, static := d.DelegationTokenURL != "", d.DelegationStaticToken.Reveal() != ""
	var problems []error
	switch {
	case exchange && static:
		problems = append(problems, errors.New("PAWL_DELEGATION_STATIC_TOKEN: PAWL_DELEGATION_TOKEN_URL is set as well; one of them"))
	case exchange && d.DelegationClientID == "":
		problems = append(problems, errors.New("PAWL_DELEGATION_CLIENT_ID: is required by PAWL_DELEGATION_TOKEN_URL"))
	case exchange && d.DelegationKeys.Reveal() == "" && d.DelegationKeysFile == "":
		problems = append(problems, errors.New("PAWL_DELEGATION_KEYS: is required by PAWL_DELEGATION_TOKEN_URL; "+
			"make one with: openssl rand -base64 32"))
	}
	if d.DelegationKeys.Reveal() != "" && d.DelegationKeysFile != "" {
		problems = append(problems, errors.New("PAWL_DELEGATION_KEYS_FILE: PAWL_DELEGATION_KEYS is set as well; one of them"))
	}
	switch d.DelegationSubjectType {
	case "access_token", "id_token", "jwt":
	default:
		problems = append(problems, fmt.Errorf(
			"PAWL_DELEGATION_SUBJECT_TYPE: want access_token, id_token or jwt, have %q", d.DelegationSubjectType))
	}
	switch d.DelegationRequestType {
	case "access_token", "refresh_token":
	default:
		problems = append(problems, fmt.Errorf(
			"PAWL_DELEGATION_REQUEST_TYPE: want access_token or refresh_token, have %q", d.DelegationRequestType))
	}
	if d.DelegationTimeout <= 0 {
		problems = append(problems, errors.New("PAWL_DELEGATION_TIMEOUT: must be longer than nothing"))
	}
	return errors.Join(problems...)
}

// SealingKeys are the keys in base64, the one that seals first.
func (d *Delegation) SealingKeys() ([]string, error) {
	text, separator := d.DelegationKeys.Reveal(), ","
	if d.DelegationKeysFile != "" {
		data, err := os.ReadFile(d.DelegationKeysFile)
		if err != nil {
			return nil, fmt.Errorf("PAWL_DELEGATION_KEYS_FILE: %w", err)
		}
		text, separator = string(data), "\n"
	}
	var keys []string
	for _, key := range strings.Split(text, separator) {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
