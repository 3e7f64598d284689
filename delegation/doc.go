// Package delegation lets an execution act for its caller while it runs, however long that is.
//
// A Broker turns the caller's credential into a lease. The lease's reference is written into the execution's row; it names
// the lease and opens nothing. What the lease stands for stays with the broker: an Exchange keeps tokens in a Vault,
// sealed with keys that only the processes have. A tool that is called with the delegation gets a short-lived token
// just before it is sent.
//
// # Invariants
//
//   - The name of a lease is its execution's id: a broker that is asked twice establishes one lease, and one that crashed
//     half-way can be told to revoke what nobody knows of.
//   - After a lease was revoked, none is made for its execution for as long as an exchange that began before may take.
//   - A lease is in the row before its first use, and is revoked after the execution has ended, however often that takes.
//   - No token, no credential and no lease reference is in an event, a log, a checkpoint, an error or a page.
//
// It must not know the journal, the agent loop or HTTP handlers.
package delegation
