// Package shrink finds a smaller trial that shows the same flaw.
//
// A violated trial comes in, with a Runner that runs the trials of the search. The smallest
// trial found goes out, stored in a folder, or a NotShrunk that says why there is none.
// Search is the pure part: it keeps each change of a spec that a callback approves.
//
// The words: an edit makes a spec smaller in one way; a pass lists edits of one kind; a
// stage is a group of passes, repeated until no pass makes progress; a budget is the
// number of trials, or the context, that ends a search.
package shrink
