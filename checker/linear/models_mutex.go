package linear

import "fmt"

// The models of locks that one owner holds at a time.

// mutex is either held or free, and lets anybody release it.
type mutex bool

func (m mutex) step(a action) (any, bool) { return mutex(!a.release), bool(m) == a.release }
func (m mutex) words() []uint64 {
	if m {
		return []uint64{1}
	}
	return []uint64{0}
}
func (m mutex) String() string {
	if m {
		return "held"
	}
	return "free"
}

// owned is a mutex that nobody can acquire while it is held, and that only its owner can release.
type owned struct {
	held  bool
	owner int
}

func (o owned) step(a action) (any, bool) {
	if a.release {
		return owned{}, o == owned{held: true, owner: a.owner}
	}
	return owned{held: true, owner: a.owner}, !o.held
}
func (o owned) words() []uint64 {
	if !o.held {
		return nil
	}
	return []uint64{uint64(o.owner)}
}
func (o owned) String() string {
	if !o.held {
		return "free"
	}
	return fmt.Sprintf("held by c%d", o.owner)
}

// reentrant lets its owner acquire again, and counts the acquires.
type reentrant struct{ owner, depth int }

func (r reentrant) step(a action) (any, bool) {
	switch {
	case a.release && r.depth == 1 && r.owner == a.owner:
		return reentrant{}, true
	case a.release:
		return reentrant{r.owner, r.depth - 1}, r.depth > 0 && r.owner == a.owner
	default:
		return reentrant{a.owner, r.depth + 1}, r.depth == 0 || r.owner == a.owner
	}
}
func (r reentrant) words() []uint64 { return []uint64{uint64(r.owner), uint64(r.depth)} }
func (r reentrant) String() string {
	if r.depth == 0 {
		return "free"
	}
	return fmt.Sprintf("held by c%d, %d deep", r.owner, r.depth)
}
