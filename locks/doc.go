// Package locks has the lock recipes of the source documents and their registry. Each recipe
// is one file, exactly as its document describes it, including its flaws.
//
// A Client comes in: connections to the nodes, a wall clock, a source of tokens. A Recipe
// makes a Maker for it, and the Maker makes a Lock for each key. Leases go out. Register adds
// a recipe to the registry, All and ByID read it.
//
// The words: a lease is a hold with the token that proves it, and perhaps a deadline and a
// fencing token; the claims of a recipe are what it promises; a flaw is a violation that its
// recipe declares, with its cause and its source; a watchdog renews leases of living clients.
//
// Recipes use go-redis and the standard time package like any service, and nothing in them
// knows of tests. Only the wall clock is passed in, because some recipes trust it.
package locks
