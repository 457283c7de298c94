// Package checker judges a trial. The input is history.Evidence: the history of operations, the
// commands that nodes ran, the changes of their keys, and the recipe's claims. The output is one
// Verdict per Oracle, with findings whose content is an account.Account. Nothing else goes in:
// judging a stored trial again gives the same verdicts. Measures that are no verdicts are in
// package progress; both read a Case, the evidence prepared once.
//
// Exclusion is decided twice, by a sweep over believed holds and by porcupine on models of
// locks: see package linear. The two share the pairing of operations and the spans of holds. If they
// disagree, the checker itself is wrong, and Judge reports that with ErrDisagree.
//
// The terms are:
//
//   - An oracle decides one property, such as exclusion. A verdict is its answer for one
//     trial: violated, holds, unknown or not applicable.
//   - A finding is one violation. Its cause is the reason, as far as the evidence shows it.
//   - A hold is one span of time during which a client believed that it held a lock.
//   - An owner is a party that can hold a lock: one client in one mode.
//   - A client attends to a lock from a grant until the client gets the reply to its release, even
//     if the client no longer believes that it holds the lock.
//   - The replay is the case together with the grants that its commands made on keys: see package
//     keyspace.
//   - A grant is an orphan if no living client attends to its lock. An orphan is overdue if it
//     keeps other clients out for longer than the recipe claims. A leftover is a key that an attempt
//     without a known success left behind, or that a post-mortem found.
//   - A reaper sends commands outside of operations that remove grants whose leases have ended.
//   - A record is a place with a note of the lock instead of the lock itself, such as the last client
//     that asked. A record keeps nobody out.
//   - A stall is a time for which the harness itself was not scheduled, or held a client while it
//     struck or healed. A finding that a stall may have caused is doubtful: the verdict keeps the
//     finding, but it does not count.
package checker
