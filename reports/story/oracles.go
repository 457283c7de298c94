package story

// oracleRank orders oracles by how directly a finding of theirs shows harm.
var oracleRank = map[string]int{"exclusion": 1, "resource": 2, "reentrancy": 3, "extension": 4, "ownership": 5, "fencing": 6, "conduct": 7, "liveness": 8}

// Rank orders oracles by how directly a finding of theirs shows harm, from 1; an unknown
// one comes last.
func Rank(oracle string) int {
	if r, ok := oracleRank[oracle]; ok {
		return r
	}
	return len(oracleRank) + 1
}
