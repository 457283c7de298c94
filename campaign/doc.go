// Package campaign compares recipes under faults.
//
// Campaign.Run takes a Config and a testbed. It plans the cells of the comparison (recipe × fault),
// runs and judges their trials side by side, and stores the evidence of trials that show something. It
// reruns trials that the machine spoilt, and folds the results into a matrix. It returns a Stored
// campaign, which Load reads back from the store.
//
// The words: a cell is one recipe under one fault; a probe is a fault-free trial that shows
// where faults can strike; a Discrepancy is a difference between what a recipe declares and
// what was found; a Sink receives the results as they come.
//
// The package knows no recipe and no fault by name, and does not know where Redis comes from.
package campaign
