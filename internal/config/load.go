package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// checker is a group of settings that knows which values make sense.
type checker interface{ check() error }

// Load fills the program's settings from the environment and checks them. target points to API, Worker, Reaper, Dev or
// Client. A variable that is set but empty counts as not set. All that is wrong comes back in one error, one line each.
func Load(target any) error {
	names := namesOf(target)
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok && value == "" {
			if err := os.Unsetenv(name); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	problems := refuseUnknown(os.Environ())
	if err := envconfig.Process("", target); err != nil {
		problems = append(problems, describe(err))
	} else {
		problems = append(problems, checkGroups(target)...)
	}
	return errors.Join(problems...)
}

// describe says in our words what envconfig refused. The value is shown only where it cannot hold a secret: secrets are
// strings, and a string never fails to convert.
func describe(err error) error {
	var parse *envconfig.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s: %s", parse.KeyName, expected(parse))
	}
	if name, ok := strings.CutPrefix(err.Error(), "required key "); ok {
		name, _, _ = strings.Cut(name, " ")
		return fmt.Errorf("%s is required: set it in the environment (-h lists all names)", name)
	}
	return fmt.Errorf("environment: %w", err)
}

func expected(parse *envconfig.ParseError) string {
	switch parse.TypeName {
	case "time.Duration", "int64", "int":
		if strings.Contains(parse.Err.Error(), "duration") {
			return fmt.Sprintf("want a duration such as 500ms, 15s or 24h, have %q", parse.Value)
		}
		return fmt.Sprintf("want a whole number, have %q", parse.Value)
	case "bool":
		return fmt.Sprintf("want 1 or 0 (true or false), have %q", parse.Value)
	default:
		return parse.Err.Error()
	}
}

// checkGroups checks every group of target, and target itself.
func checkGroups(target any) []error {
	var problems []error
	value := reflect.ValueOf(target).Elem()
	for i := range value.NumField() {
		field := value.Field(i)
		if !value.Type().Field(i).Anonymous {
			continue
		}
		if group, ok := field.Addr().Interface().(checker); ok {
			if err := group.check(); err != nil {
				problems = append(problems, err)
			}
		}
	}
	if client, ok := target.(*Client); ok {
		if err := client.check(); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// namesOf lists the names that target obeys, in the order of its fields.
func namesOf(target any) []string {
	t := reflect.TypeOf(target)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var names []string
	for field := range t.Fields() {
		if field.Anonymous {
			names = append(names, namesOf(reflect.New(field.Type).Interface())...)
		} else if name := field.Tag.Get("envconfig"); name != "" {
			names = append(names, name)
		}
	}
	return names
}
