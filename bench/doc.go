// Package bench measures what Pawl costs, beside a raw Asynq chain on the same Redis in the same run, so that the figures
// are judged as ratios and not as properties of a machine.
//
// A measurement is one file with one function of type Measure. It starts loads (plain Asynq, Asynq behind Pawl's queue
// server, Pawl itself, in this process or in others), takes the difference of two readings of every counter (window), and
// gives metrics with one sample for each pair. Sides that are compared take turns; what is printed is the median, and the
// median of the ratios of pairs.
//
// It changes no setting of the product: what runs is what the worker ships, less its HTTP tools, with one tool inside the
// process. It works only on a Redis that is empty, and empties it between loads.
package bench
