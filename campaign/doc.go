// Package campaign runs trials and judges them: it plans the cells of a
// comparison (recipe × fault), runs their trials side by side on a testbed that
// it is given, stores every history before it is judged, and folds the verdicts
// into a matrix.
//
// It knows no recipe and no fault by name, and not where Redis comes from.
package campaign
