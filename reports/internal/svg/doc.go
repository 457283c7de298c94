// Package svg writes the plots' pictures as SVG, and measures texts.
package svg
