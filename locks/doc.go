// Package locks holds the lock recipes of the source documents, which Documents lists, and their
// registry. Each recipe is one file and follows its document exactly, flaws included.
//
// A Recipe makes a Maker for a Client, which has connections to the nodes, a wall clock and a
// source of tokens. The Maker makes a Lock for each key, and the Lock returns Leases. Register adds
// a recipe to the registry; All and ByID read the registry.
//
// The words: a lease is a hold with the token that proves it, and perhaps a deadline and a fencing
// token; the claims of a recipe are its promises; a flaw is a violation that a recipe declares in
// advance, with its cause and its source; a watchdog renews a lease in the background, while its
// client process lives.
//
// Recipes use go-redis and the standard time package as any service would. No recipe knows of
// tests. Only the wall clock is passed in, because some recipes trust it.
package locks
