package history

// Evidence is all that a verdict may rest on.
type Evidence struct {
	Ops      []Op      // in order of Index
	Commands []Command // in order of Sent
	// Keys are the changes of the nodes' keys, in order of Index.
	Keys []KeyChange
	// Watched says that the nodes' keys were watched: if Keys is empty, no key changed.
	// After a node's FUnseen, its keys are unknown.
	Watched bool
	Claims  Claims
}
