package history

// Evidence is all that a verdict may rest on.
type Evidence struct {
	Ops      []Op      // in order of Index
	Commands []Command // in order of Sent
	// Keys are what the nodes' keys were, in order of Index.
	Keys []KeyChange
	// Watched says that the nodes' keys were watched: if Keys is empty, no key
	// changed. From a node's FUnseen on, what its keys were is not known.
	Watched bool
	Claims  Claims
}
