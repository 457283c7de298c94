package resp

import "slices"

// Queue is a list. It makes no garbage if elements are pushed to its end and mostly removed from
// its beginning. The zero Queue is empty. A Queue must not be used concurrently.
type Queue[T any] struct {
	all  []T
	head int // the elements before head were removed
}

// Live returns the elements in the order of Push. The slice is valid until the queue is changed.
func (q *Queue[T]) Live() []T { return q.all[q.head:] }

// Push appends v to the end.
func (q *Queue[T]) Push(v T) {
	if len(q.all) == cap(q.all) && q.head > len(q.all)/2 {
		n := copy(q.all, q.Live())
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, v)
}

// Remove removes Live()[i].
func (q *Queue[T]) Remove(i int) {
	if i > 0 {
		q.all = slices.Delete(q.all, q.head+i, q.head+i+1)
		return
	}
	clear(q.all[q.head : q.head+1])
	if q.head++; q.head == len(q.all) {
		q.all, q.head = q.all[:0], 0
	}
}
