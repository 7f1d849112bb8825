package plan

import "sync"

// Result passes results from tasks to later tasks, by machine. The zero Result is empty.
type Result[T any] struct {
	mu sync.Mutex
	of map[string]T
}

// Set stores the result for a machine, or for the VNF as a whole if on is "".
func (r *Result[T]) Set(on string, value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]T{}
	}
	r.of[on] = value
}

// Of returns the result for a machine, or the zero value if there is none.
func (r *Result[T]) Of(on string) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[on]
}
