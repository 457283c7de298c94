// Package campaign compares recipes under faults.
//
// A Config comes in, with a testbed. A campaign plans the cells of the comparison (recipe ×
// fault), has their trials run side by side, stores every history before it is judged,
// reruns trials that the machine spoilt, and folds the results into a matrix. A Stored
// campaign goes out, and Load reads it back.
//
// The words: a cell is one recipe under one fault; a probe is a fault-free trial that shows
// where faults can strike; a Discrepancy is a difference between what a recipe declares and
// what was found; a Sink receives the results as they come.
//
// The package knows no recipe and no fault by name, and not where Redis comes from.
package campaign
