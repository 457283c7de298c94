package linear

import "fmt"

// The models of locks whose grants carry fencing tokens. Each token must be greater than
// every earlier token. If it is unknown how long a grant lasted (action.passing), the model ends the
// grant as soon as it begins, and judges only its fence.

// fenced is an owner-aware mutex with a fence.
type fenced struct {
	owned
	fence int64 // the greatest fence so far
}

func (f fenced) step(a action) (any, bool) {
	next, legal := f.owned.step(a)
	f.owned = next.(owned)
	if a.release {
		return f, legal
	}
	legal = legal && a.fence > f.fence
	f.fence = a.fence
	if a.passing {
		f.owned = owned{}
	}
	return f, legal
}
func (f fenced) words() []uint64 { return append(f.owned.words(), uint64(f.fence)) }
func (f fenced) String() string  { return fmt.Sprintf("%s, fence %d", f.owned, f.fence) }

// reentrantFenced is a reentrant mutex with a fence. An owner that acquires again may get
// its own fence again, unless another owner has got a fence since.
type reentrantFenced struct {
	reentrant
	fence int64 // the greatest fence so far
	by    int   // the owner of that fence
}

func (f reentrantFenced) step(a action) (any, bool) {
	next, legal := f.reentrant.step(a)
	if a.release {
		f.reentrant = next.(reentrant)
		return f, legal
	}
	legal = legal && a.fence > 0 && (a.fence > f.fence || a.fence == f.fence && a.owner == f.by)
	if !a.passing {
		f.reentrant = next.(reentrant)
	}
	f.fence, f.by = a.fence, a.owner
	return f, legal
}
func (f reentrantFenced) words() []uint64 {
	return append(f.reentrant.words(), uint64(f.fence), uint64(f.by))
}
func (f reentrantFenced) String() string {
	if f.fence == 0 {
		return f.reentrant.String()
	}
	return fmt.Sprintf("%s, fence %d of c%d", f.reentrant, f.fence, f.by)
}

// fencedResource is the state of a guarded resource: the greatest fence that it has seen.
// An acquire stands for a read or write that the resource accepted.
type fencedResource int64

func (f fencedResource) step(a action) (any, bool) {
	return max(f, fencedResource(a.fence)), a.fence >= int64(f)
}
func (f fencedResource) words() []uint64 { return []uint64{uint64(f)} }
func (f fencedResource) String() string  { return fmt.Sprintf("has seen fence %d", int64(f)) }
