// Package plots draws the pictures of a whole campaign. Its input is a Campaign: the matrix, the
// trials and the latencies. Its output is a list of Plots. Each has an SVG and, unless the page
// shows them, the figures behind the picture. Drawing is a pure function: the same campaign
// gives the same bytes. The package writes no files.
//
// A panel is a pair of axes with a row for each recipe. A chart is one or several panels below
// each other. A heat map has a field for each cell, which is a recipe under a fault. A sweep is a
// set of trials that differ only in the size of their fault.
package plots
