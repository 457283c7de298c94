// Package peers makes recipes of other projects' lock libraries, unmodified, so that Lockstorm can
// test these libraries too.
//
// The library connects through a locks.Client. An adapter makes the library's lock a locks.Lock. The
// adapter only maps the library's results to held, not held and unknown; its comments say where a
// library leaves the outcome open. Each set of options that changes a lock's guarantees is a recipe,
// such as redsync-no-drift. The registry of package locks has these recipes only after Register.
//
// The words: a peer is a library of another project; a promise is a claim of the library's
// documentation, and the recipe's Document is the address of that documentation; a measured flaw is
// one that campaigns found and that no documentation declares.
package peers
