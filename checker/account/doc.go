// Package account holds the contents of findings and verdicts as data, and makes their sentences.
// The inputs are the facts that package checker found out; the outputs are sentences. A sentence is
// made from an Account alone, and no code reads sentences.
//
//   - A fact is one event of a trial. Its kind is What. Each kind has one sentence, with names in
//     braces for the parts of the fact, such as "{node} evicted {key} at {at}".
//   - An account is what happened in a finding, with the holds, operations and grants
//     concerned, the reasons, and the broken assumption.
//   - A premise is something that leases rely on. An assumption is a premise that did not
//     hold in a trial, with the fact that contradicts it.
//   - An ending is how a key stopped carrying a grant or stopped keeping others out.
//   - A style formats the times in sentences.
package account
