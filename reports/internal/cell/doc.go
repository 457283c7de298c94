// Package cell finds the cells of a campaign's matrix, and the trials that count for their
// figures. A cell is a recipe under a fault. Its class is its verdict as pages and plots show it.
// A trial is measurable if its clients' progress says something about the fault.
package cell
