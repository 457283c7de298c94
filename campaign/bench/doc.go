// Package bench measures what locks cost, side by side: commands and round trips, latency alone and
// contended, and the speed of the harness itself.
//
// Run runs the same two trials of each lock. Figures are pure functions of their evidence (Costs,
// Contended), so that on virtual time a seed gives the same figures on any machine. A Report compares
// each lock with the baseline, which is one of the locks.
package bench
