// Package queue is a list for what comes and goes in order.
package queue

import "slices"

// Queue is a list that is mostly pushed to at its end and removed from at its
// beginning; then it makes no garbage.
type Queue[T any] struct {
	all  []T
	head int // those before were removed
}

// Live are the elements, until the queue is changed.
func (q *Queue[T]) Live() []T { return q.all[q.head:] }

func (q *Queue[T]) Push(v T) {
	if len(q.all) == cap(q.all) && q.head > len(q.all)/2 {
		n := copy(q.all, q.Live())
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, v)
}

// Remove takes the element of that place among live out.
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
