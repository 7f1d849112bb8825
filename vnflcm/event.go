package vnflcm

import (
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events.
const (
	OperationChanged EventKind = "operation"       // State is the operation's new state
	OperationTaken   EventKind = "operation-taken" // this process continues the work of another one, or of an earlier one
	OperationLost    EventKind = "operation-lost"  // another process continues the work of this one
	PhaseStarted     EventKind = "phase-started"
	PhaseDone        EventKind = "phase-done"
	StepStarted      EventKind = "step-started"
	StepDone         EventKind = "step-done"
	StepSkipped      EventKind = "step-skipped" // the journal says it was done before
	StepFailed       EventKind = "step-failed"
	StepProgress     EventKind = "step-progress" // Message says how far it is
	// StepWaiting: a step waits. Message says for what and why the last attempt has failed, Tries counts the attempts, Duration is how
	// long the step has been running. The first event comes 4 s after the beginning of a wait, further ones at growing intervals of up
	// to 5 min. The log has it at level INFO. Without Name the code of a phase between its steps waits.
	StepWaiting EventKind = "step-waiting"
	// GrantPassedOver: an operation begins without a grant of the NFVO, because of GrantPolicy.WhenUnreachable or Manager.GrantByHand.
	// Message says why. The event may come twice if a process ends.
	GrantPassedOver EventKind = "grant-passed-over"
	// CertificatesEnd: the end of certificates of an instance is near, as the feed of changes says in detail. There is no operation.
	CertificatesEnd EventKind = "certificates-end"
)

// WaitClass is the kind of reason for which a step waits or has failed. An error of a driver has one by a method WaitClass() WaitClass;
// metrics count other values than these as WaitOther.
type WaitClass = retry.Class

// The classes of reasons.
const (
	WaitHostUnreachable WaitClass = "host-unreachable" // a machine does not answer, or the connection to it breaks
	WaitHostCredentials WaitClass = "host-credentials" // a machine refuses the login
	WaitVIMUnreachable  WaitClass = "vim-unreachable"  // the API of a VIM does not answer
	WaitVIMCredentials  WaitClass = "vim-credentials"  // the API of a VIM refuses the credentials
	WaitUnreachable     WaitClass = "unreachable"      // another peer does not answer
	WaitQuota           WaitClass = "quota"            // the reason names a quota
	WaitGrant           WaitClass = "grant"            // the NFVO has not answered a request for a grant
	WaitLock            WaitClass = "lock"             // another program holds a lock
	WaitNotReady        WaitClass = "not-ready"        // a peer works on it: a machine starts, a stack is made, pods start
	WaitOther           WaitClass = "other"
)

// Event reports progress of an operation. Its texts contain no secrets.
type Event struct {
	Time       time.Time
	Kind       EventKind
	InstanceID string
	Operation  LcmOperation
	State      OperationState
	StepInfo   // Phase, Name, On and Host are empty where they do not apply
	// Duration is how long the step or phase took, when it is done or the step failed, or takes so far, when it waits. For an operation that
	// ended or became FAILED_TEMP it is the time since StartTime, including earlier attempts and pauses.
	Duration time.Duration
	// Class is the kind of reason of a StepWaiting or StepFailed, for metrics and filters. "" for events of other kinds.
	Class WaitClass
	// Since is when the wait of a StepWaiting began, or the driver reported of it last.
	Since time.Time
	// Tries is how many attempts of the wait of a StepWaiting have failed.
	Tries   int
	Message string
}
