// Package svg draws pictures and makes them fit for a page. Draw gives a picture's file;
// its inks, letters and shapes are those of every timeline and plot. Inline and Compact
// prepare pictures for a page that holds hundreds of them.
package svg
