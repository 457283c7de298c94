package testbed

import "slices"

// queue is a list that is mostly pushed to at its end and removed from at its
// beginning; then it makes no garbage.
type queue[T any] struct {
	all  []T
	head int // those before were removed
}

// live are the elements, until the queue is changed.
func (q *queue[T]) live() []T { return q.all[q.head:] }

func (q *queue[T]) push(v T) {
	if len(q.all) == cap(q.all) && q.head > len(q.all)/2 {
		n := copy(q.all, q.live())
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, v)
}

// remove takes the element of that place among live out.
func (q *queue[T]) remove(i int) {
	if i > 0 {
		q.all = slices.Delete(q.all, q.head+i, q.head+i+1)
		return
	}
	clear(q.all[q.head : q.head+1])
	if q.head++; q.head == len(q.all) {
		q.all, q.head = q.all[:0], 0
	}
}
