package vnflcm

import "time"

// LcmOperation is the kind of a lifecycle operation (SOL003 v2.6.1 5.5.4.5).
type LcmOperation string

// The operations of this package.
const (
	OpInstantiate LcmOperation = "INSTANTIATE"
	OpScale       LcmOperation = "SCALE"
	OpHeal        LcmOperation = "HEAL"
	OpTerminate   LcmOperation = "TERMINATE"
	// OpChangeExtConn needs a driver that is a ConnectivityChanger.
	OpChangeExtConn LcmOperation = "CHANGE_EXT_CONN"
)

// OperationState of an operation occurrence (SOL003 v2.6.1 5.6.2.2).
type OperationState string

// The states of an operation occurrence. Completed, Failed and RolledBack are final; FailedTemp keeps the
// instance locked until the operation is retried, rolled back or failed.
const (
	Starting    OperationState = "STARTING"
	Processing  OperationState = "PROCESSING"
	Completed   OperationState = "COMPLETED"
	FailedTemp  OperationState = "FAILED_TEMP"
	Failed      OperationState = "FAILED"
	RollingBack OperationState = "ROLLING_BACK"
	RolledBack  OperationState = "ROLLED_BACK"
)

// Final reports whether the operation has ended for good.
func (s OperationState) Final() bool { return s == Completed || s == Failed || s == RolledBack }

// active reports whether somebody works on the operation, or should.
func (s OperationState) active() bool { return s == Starting || s == Processing || s == RollingBack }

// VnfLcmOpOcc is one lifecycle operation, under way or ended (SOL003 v2.6.1 5.5.2.13).
type VnfLcmOpOcc struct {
	ID                    string           `json:"id"`
	OperationState        OperationState   `json:"operationState"`
	StateEnteredTime      time.Time        `json:"stateEnteredTime"`
	StartTime             time.Time        `json:"startTime"`
	VnfInstanceID         string           `json:"vnfInstanceId"`
	GrantID               string           `json:"grantId,omitempty"`
	Operation             LcmOperation     `json:"operation"`
	IsAutomaticInvocation bool             `json:"isAutomaticInvocation"`
	OperationParams       Params           `json:"operationParams"` // the request
	IsCancelPending       bool             `json:"isCancelPending"`
	CancelMode            CancelMode       `json:"cancelMode,omitempty"`
	Error                 *ProblemDetails  `json:"error,omitempty"`
	ResourceChanges       *ResourceChanges `json:"resourceChanges,omitempty"`
	// ChangedExtConnectivity are the external links that the operation has changed, as they are now.
	ChangedExtConnectivity []ExtVirtualLinkInfo `json:"changedExtConnectivity,omitempty"`
}

// ResourceChanges says what an operation changed (SOL003 v2.6.1 5.5.2.13).
type ResourceChanges struct {
	AffectedVnfcs []AffectedVnfc `json:"affectedVnfcs,omitempty"`
}

// ChangeType of an AffectedVnfc.
type ChangeType string

// The changes of a VNFC (SOL003 v2.6.1 5.5.3.12).
const (
	VnfcAdded    ChangeType = "ADDED"
	VnfcRemoved  ChangeType = "REMOVED"
	VnfcModified ChangeType = "MODIFIED"
)

// AffectedVnfc (SOL003 v2.6.1 5.5.3.12).
type AffectedVnfc struct {
	ID              string         `json:"id"`
	VduID           string         `json:"vduId"`
	ChangeType      ChangeType     `json:"changeType"`
	ComputeResource ResourceHandle `json:"computeResource"`
}
