// Package peers makes recipes of other projects' lock libraries, unmodified, so that they
// can be tested like ours.
//
// A locks.Client comes in, with which the library connects. A locks.Lock goes out: an adapter
// that only maps the library's results to held, not held and unknown, and documents where a
// library leaves the outcome open. Options that change what a lock keeps are recipes of their
// own. Register adds the recipes; the registry does not have them otherwise.
//
// The words: a peer is a library of another project; a promise is a claim that its
// documentation makes, whose address is the recipe's Document; a measured flaw is one that
// campaigns found and that no documentation declares.
package peers
