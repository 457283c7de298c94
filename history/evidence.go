package history

// Evidence is all that a verdict may rest on.
type Evidence struct {
	Ops      []Op      // in order of Index
	Commands []Command // in order of Sent
	// Keys are the changes of the nodes' keys, in order of Index.
	Keys []KeyChange
	// Watched: the nodes' keys were observed, so that an empty Keys means no change.
	// After a node's FUnseen, its keys are unknown.
	Watched bool
	Claims  Claims
}
