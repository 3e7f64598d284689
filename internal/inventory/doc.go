// Package inventory accounts for every key that Pawl has in a Redis: what it is, how many there are, what they weigh, and
// who deletes them.
package inventory
