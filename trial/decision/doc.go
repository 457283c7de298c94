// Package decision finds when the violation of a trial became certain.
//
// A continuation is a run of the trial that is cut at an instant. Up to that instant, it repeats the
// recorded trial. Then every fault ends and no other fault begins. In all continuations but the first,
// clients also draw new decisions. Before the violation was certain, some continuations avert it;
// afterwards none does.
//
// Cut is the pure part: it makes the spec of a continuation. Run runs continuations from
// many instants.
package decision
