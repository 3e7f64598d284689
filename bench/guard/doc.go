// Command guard compares the benchmarks of a step's path between an earlier commit and the working tree, on the same
// redis-server in the same run: both are built, take turns, and benchstat says what differs.
//
// It exits 1 when a step takes more round trips, sends more bytes to Redis, or allocates more than before: these do not depend
// on the machine. More time is a warning, because it does. Run it with make bench/guard.
package main
