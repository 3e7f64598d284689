// Pawl is the command line: `pawl dev` runs everything on one machine, submit, list, watch, input and cancel talk to an API.
//
// Flags say what a command does; where the API is and which key it takes come from the environment (PAWL_URL,
// PAWL_API_KEY). Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 canceled, 4 suspended, 5 the API gave no answer or
// refused, 130 interrupted.
package main
