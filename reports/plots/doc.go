// Package plots draws the pictures of a whole campaign, and that of a decision. Its input is
// a Campaign: the matrix, the trials and the latencies. Its output are Plots, each an SVG
// with its PNG and, where the page does not have them, the figures behind it. Drawing is a
// pure function: the same campaign gives the same bytes. The package writes no files.
//
// A panel is a pair of axes with a row for each recipe, and a chart has one or several below
// each other. A heat map has a field for each cell, a recipe under a fault. A sweep are
// trials that differ only in the size of their fault.
package plots
