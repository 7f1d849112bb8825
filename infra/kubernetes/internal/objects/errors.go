package objects

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Sentinels, found with errors.Is. Trying again does not help.
var (
	// ErrForeign: there is an object of that name that is not this VNF instance's.
	ErrForeign = errors.New("exists and is not of this VNF instance")
	// ErrUnequal: manifests contain different objects with one name.
	ErrUnequal = errors.New("differ: an object has one manifest, or equal ones")
	// ErrNotScalable: the kind has no number of replicas.
	ErrNotScalable = errors.New("cannot be scaled")
	// ErrOrder: a StatefulSet removes its highest ordinals first, and other pods were chosen.
	ErrOrder = errors.New("is not one of the pods that a StatefulSet removes first")
)

// NotReadyError is a helmclient.ErrNotReady: what did not become ready, and why.
type NotReadyError struct {
	After   time.Duration
	Objects []helmclient.Object
	Failed  bool  // they say themselves that they will not become ready
	Cause   error // why the wait ended, nil with Failed
}

func (e *NotReadyError) Error() string {
	var list []string
	for _, o := range e.Objects {
		list = append(list, o.String())
	}
	verb := "not ready after"
	if e.Failed {
		verb = "failed after"
	}
	return fmt.Sprintf("kubernetes: %s %v: %s", verb, e.After.Round(time.Second), strings.Join(list, "; "))
}

// Is makes it a helmclient.ErrNotReady.
func (e *NotReadyError) Is(target error) bool { return target == helmclient.ErrNotReady }

// Unwrap returns the reason why the wait ended.
func (e *NotReadyError) Unwrap() error { return e.Cause }

// StuckError lists the objects that still existed when the time for their deletion was over.
type StuckError struct {
	Objects []Held
	Cause   error // why the wait ended
}

// Held is an object whose deletion is blocked.
type Held struct {
	Ref
	Reason string // finalizers, or what its pods wait for
}

func (e *StuckError) Error() string {
	var list []string
	for _, h := range e.Objects {
		list = append(list, h.String()+": "+h.Reason)
	}
	return "kubernetes: not gone: " + strings.Join(list, "; ")
}

// Unwrap returns the reason why the wait ended.
func (e *StuckError) Unwrap() error { return e.Cause }

// BlockedError is a pod whose eviction a disruption budget does not allow.
type BlockedError struct {
	Pod    Ref
	Reason string // message of the API server; it names the budget
	Cause  error  // why the wait ended
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("kubernetes: %s cannot be evicted: %s", e.Pod, e.Reason)
}

// Unwrap returns the reason why the wait ended.
func (e *BlockedError) Unwrap() error { return e.Cause }
