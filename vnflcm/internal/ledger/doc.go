// Package ledger keeps records in a store that several processes share, and decides which of them may write. It knows nothing of VNF
// instances: package vnflcm defines the kinds of its records and their contents.
//
// # Records
//
// A [Ledger] seals each record: the body is encrypted, and bound to the kind, the id, the version and the index of the record, which stay in
// clear. Its [Store] marks every failure of the store as [ErrStore], and has every write depend on the [Format] of the store: a process
// whose version does not know the format can write nothing. Functions that take a batch add to it; one Apply, or the Update around them,
// writes it.
//
// # Leases
//
// A [Lease] is a record that a living process renews. Other processes watch it with [Sightings]: a process whose record has stood still for
// the TTL, by the clock of the process that watches, is gone. [Exclusive] gives a lease for one purpose to one process at a time.
//
// # Claims
//
// A [Claim] is the right to work on one operation. A process takes the claim over only from a process that is gone. The version of its
// record is the epoch: every write of the work asserts it in the same batch, so the write of a process that has lost the claim fails,
// whichever record the write is for.
package ledger
