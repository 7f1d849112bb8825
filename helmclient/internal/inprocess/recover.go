package inprocess

import (
	"errors"
	"fmt"
)

// errPanic: Helm has panicked, mostly on an object of the API server without a field that Kubernetes always sets. Helm starts
// goroutines, in which a panic would end the process.
var errPanic = errors.New("panic")

// Recovered calls do, and returns its panic as an error.
func Recovered(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("%w: %v", errPanic, value)
		}
	}()
	return do()
}
