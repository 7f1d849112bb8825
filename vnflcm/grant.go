package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Granter asks the NFVO for permission (SOL003 v2.6.1 9). The Manager asks before it touches anything. It journals the request before
// Ask, the location of an undecided grant before Poll, and the grant before it continues. GranterFunc is a Granter in the process, package
// vnflcm/sol003/nfvo has one over HTTP.
//
// ErrGrantRejected is the decision of the NFVO, and any other error than an *UnreachableError a failure: the operation is rolled back.
// After an *UnreachableError the Manager does what GrantPolicy says.
type Granter interface {
	// Ask sends a request for a grant. If the process ends before the answer is journaled, the next process sends the same request again:
	// an NFVO recognizes it by its vnfLcmOpOccId.
	Ask(ctx context.Context, request GrantRequest) (GrantAnswer, error)
	// Poll asks for the decision about a request that Ask has left undecided at a location.
	Poll(ctx context.Context, location string) (GrantAnswer, error)
}

// GranterFunc is a Granter that decides at once. It returns the grant, or an error that is ErrGrantRejected. The Manager takes resources
// that the grant does not name as granted, and the ids of the operation and of the VNF instance as given.
type GranterFunc func(ctx context.Context, request GrantRequest) (*Grant, error)

// Ask implements Granter.
func (f GranterFunc) Ask(ctx context.Context, request GrantRequest) (GrantAnswer, error) {
	grant, err := f(ctx, request)
	if err != nil || grant == nil {
		return GrantAnswer{}, err
	}
	return GrantAnswer{Grant: grant.completed(request)}, nil
}

// Poll implements Granter. It is never called.
func (GranterFunc) Poll(context.Context, string) (GrantAnswer, error) {
	return GrantAnswer{}, fmt.Errorf("%w: a GranterFunc has no undecided grants", ErrProgramming)
}

// completed returns a copy of the grant that names every resource of the request.
func (g *Grant) completed(request GrantRequest) *Grant {
	out := *g
	out.VnfInstanceID, out.VnfLcmOpOccID = request.VnfInstanceID, request.VnfLcmOpOccID
	for _, list := range request.lists(&out) {
		granted := slices.Clone(*list.granted)
		for _, d := range list.asked {
			if !slices.ContainsFunc(granted, func(i GrantInfo) bool { return i.ResourceDefinitionID == d.ID }) {
				granted = append(granted, GrantInfo{ResourceDefinitionID: d.ID})
			}
		}
		*list.granted = granted
	}
	return &out
}

// WhenUnreachable says what becomes of an operation while the NFVO does not answer.
type WhenUnreachable string

// The values of WhenUnreachable. A rejection is never passed over.
const (
	UnreachableWait    WhenUnreachable = "wait"    // the operation waits, at most GrantPolicy.Within
	UnreachableFail    WhenUnreachable = "fail"    // after one minute the operation is rolled back; nothing was changed
	UnreachableProceed WhenUnreachable = "proceed" // after one minute the operation begins without a grant, with a warning
)

// GrantPolicy says which operations need a grant of Config.Granter, and how long they wait for it.
type GrantPolicy struct {
	// Operations need a grant. Default: all. MODIFY_INFO, CREATE_SNAPSHOT, REVERT_TO_SNAPSHOT, retries and rollbacks never ask for one.
	Operations []LcmOperation
	// WhenUnreachable is for an NFVO that does not answer. Default UnreachableWait.
	WhenUnreachable WhenUnreachable
	// Within is how long an operation waits for its grant, since a process has taken the operation up. Then the operation is rolled back;
	// nothing was changed. Default one hour.
	Within time.Duration
}

// check returns the faults of the policy.
func (p GrantPolicy) check() error {
	var faults []error
	known := []WhenUnreachable{"", UnreachableWait, UnreachableFail, UnreachableProceed}
	if !slices.Contains(known, p.WhenUnreachable) {
		faults = append(faults, fmt.Errorf("vnflcm: Config.Grants.WhenUnreachable: %q must be wait, fail or proceed", p.WhenUnreachable))
	}
	if p.Within < 0 {
		faults = append(faults, errors.New("vnflcm: Config.Grants.Within: must not be negative"))
	}
	for _, kind := range p.Operations {
		if kind == OpModifyInfo {
			faults = append(faults, errors.New("vnflcm: Config.Grants.Operations: MODIFY_INFO has no grant (SOL003 v2.6.1 9.5.2.2)"))
		}
	}
	return errors.Join(faults...)
}

// needsGrant reports whether operations of a kind need a grant.
func (m *Manager) needsGrant(kind LcmOperation) bool {
	list := m.cfg.Grants.Operations
	return m.cfg.Granter != nil && kind != OpModifyInfo && !kind.isOfSnapshot() && (len(list) == 0 || slices.Contains(list, kind))
}

// GrantAnswer is an answer of the NFVO to a request for a grant.
type GrantAnswer struct {
	Grant    *Grant        // nil: the NFVO has not decided
	Location string        // of the grant while it is undecided; "": the location is known already
	After    time.Duration // the NFVO asks to wait that long before the next request; 0: no wish
}

// UnreachableError is the error of an NFVO that does not answer, or is overloaded. errors.Is(err, ErrNoNFVO) is true.
type UnreachableError struct {
	Err   error
	After time.Duration // the NFVO asks to wait that long before the next request; 0: no wish
	// Sent is set if the NFVO may have received the request, and may have made a resource whose id is not known.
	Sent bool
}

// Error implements error.
func (e *UnreachableError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Is makes every UnreachableError an ErrNoNFVO.
func (e *UnreachableError) Is(target error) bool { return target == ErrNoNFVO }

// WaitClass makes the NFVO what a wait with this reason waits for.
func (e *UnreachableError) WaitClass() WaitClass { return WaitGrant }
