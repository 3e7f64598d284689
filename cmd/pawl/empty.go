package main

import (
	"slices"

	"github.com/spf13/pflag"
)

// emptiable are the flags whose empty value says something: an empty text.
var emptiable = []string{"answer", "result", "reason", "note"} //nolint:gochecknoglobals // a constant

// refuseEmpty refuses flags that are given without a value, as by a variable of the shell that is not set: what they
// would have narrowed, or named, must not be taken for everything.
func refuseEmpty(flags *pflag.FlagSet) error {
	var problem error
	flags.Visit(func(flag *pflag.Flag) { // those that are given
		if problem != nil || slices.Contains(emptiable, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if len(values) == 0 || slices.Contains(values, "") {
			problem = wrongUsage("--%s: the value is empty", flag.Name)
		}
	})
	return problem
}
