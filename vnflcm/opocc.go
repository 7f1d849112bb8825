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
	// OpScaleToLevel scales several aspects. Drivers see an OpScale for each.
	OpScaleToLevel LcmOperation = "SCALE_TO_LEVEL"
	// OpModifyInfo changes attributes of the instance, or maintains the VNF (Manager.Maintain), but does not change its resources.
	OpModifyInfo LcmOperation = "MODIFY_INFO"
	// OpChangeExtConn needs a driver that is a ConnectivityChanger.
	OpChangeExtConn LcmOperation = "CHANGE_EXT_CONN"
	// OpOperate needs a driver that is an Operator.
	OpOperate LcmOperation = "OPERATE"
	// OpChangeVnfPkg needs a driver that is a PackageChanger.
	OpChangeVnfPkg LcmOperation = "CHANGE_VNFPKG"
	// OpCreateSnapshot needs a driver that is a Snapshotter.
	OpCreateSnapshot LcmOperation = "CREATE_SNAPSHOT"
	// OpRevertToSnapshot needs a driver that is a SnapshotReverter.
	OpRevertToSnapshot LcmOperation = "REVERT_TO_SNAPSHOT"
)

// isOfSnapshot reports whether operations of the kind take a snapshot or revert to one. They change no resources of the VIM.
func (o LcmOperation) isOfSnapshot() bool { return o == OpCreateSnapshot || o == OpRevertToSnapshot }

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

// Final reports whether the operation has ended and cannot be continued.
func (s OperationState) Final() bool { return s == Completed || s == Failed || s == RolledBack }

// active reports whether a process works on the operation, or should.
func (s OperationState) active() bool { return s == Starting || s == Processing || s == RollingBack }

// VnfLcmOpOcc is one lifecycle operation, running or ended (SOL003 v2.6.1 5.5.2.13).
type VnfLcmOpOcc struct {
	ID                    string          `json:"id"`
	OperationState        OperationState  `json:"operationState"`
	StateEnteredTime      time.Time       `json:"stateEnteredTime"`
	StartTime             time.Time       `json:"startTime"`
	VnfInstanceID         string          `json:"vnfInstanceId"`
	GrantID               string          `json:"grantId,omitempty"`
	Operation             LcmOperation    `json:"operation"`
	IsAutomaticInvocation bool            `json:"isAutomaticInvocation"`
	OperationParams       Params          `json:"operationParams"` // the request
	IsCancelPending       bool            `json:"isCancelPending"`
	CancelMode            CancelMode      `json:"cancelMode,omitempty"`
	Error                 *ProblemDetails `json:"error,omitempty"`
	// Warnings are texts of drivers that the client should know although the operation succeeds, such as resources that
	// stay on the VIM. SOL003 has no such attribute.
	Warnings []string `json:"warnings,omitempty"`
	// Machines counts the machines of a maintenance, if its driver does (Operation.Count). SOL003 has no such attribute.
	Machines *MachineCount `json:"machines,omitempty"`
	// ResourceChanges are the changes so far, also of an operation that has failed.
	ResourceChanges *ResourceChanges `json:"resourceChanges,omitempty"`
	// ChangedInfo are the attributes of the instance that the operation has changed, once it has ended.
	ChangedInfo *VnfInfoModifications `json:"changedInfo,omitempty"`
	// ModificationsTriggeredByVnfPkgChange are set instead of ChangedInfo once a CHANGE_VNFPKG has ended.
	ModificationsTriggeredByVnfPkgChange *ModificationsTriggeredByVnfPkgChange `json:"modificationsTriggeredByVnfPkgChange,omitempty"`
	// ChangedExtConnectivity are the external links that the operation has changed, as they are now, once it has ended.
	ChangedExtConnectivity []ExtVirtualLinkInfo `json:"changedExtConnectivity,omitempty"`
	// VnfSnapshotInfoID is set for a CREATE_SNAPSHOT and a REVERT_TO_SNAPSHOT.
	VnfSnapshotInfoID string `json:"vnfSnapshotInfoId,omitempty"`
	Tenant            string `json:"-"` // of the instance
	// CanRollBack is set in FAILED_TEMP if Manager.Rollback supports the operation.
	CanRollBack bool `json:"-"`
	// Version changes with every change of the operation, and when a cancel is pending: the ETag of an HTTP API.
	Version string `json:"-"`
}

// VnfInfoModifications are attributes of a VNF instance that an operation has changed (SOL003 v2.6.1 5.5.2.12a).
type VnfInfoModifications struct {
	VnfInstanceName           string                 `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription    string                 `json:"vnfInstanceDescription,omitempty"`
	VnfConfigurableProperties Params                 `json:"vnfConfigurableProperties,omitzero"`
	Metadata                  KeyValuePairs          `json:"metadata,omitempty"`
	VimConnectionInfo         VimConnections         `json:"vimConnectionInfo,omitempty"` // those that are new or changed
	Extensions                Params                 `json:"extensions,omitzero"`
	VnfcInfoModifications     []VnfcInfoModification `json:"vnfcInfoModifications,omitempty"`
}

// ModificationsTriggeredByVnfPkgChange are attributes of a VNF instance that a change of its package has changed (SOL003 v3.3.1 5.5.3.24).
type ModificationsTriggeredByVnfPkgChange struct {
	VnfConfigurableProperties Params `json:"vnfConfigurableProperties,omitzero"`
	Extensions                Params `json:"extensions,omitzero"`
	VnfdID                    string `json:"vnfdId,omitempty"`
	VnfProvider               string `json:"vnfProvider,omitempty"`
	VnfProductName            string `json:"vnfProductName,omitempty"`
	VnfSoftwareVersion        string `json:"vnfSoftwareVersion,omitempty"`
	VnfdVersion               string `json:"vnfdVersion,omitempty"`
}

// ResourceChanges says what an operation changed (SOL003 v2.6.1 5.5.2.13).
type ResourceChanges struct {
	AffectedVnfcs           []AffectedVnfc           `json:"affectedVnfcs,omitempty"`
	AffectedVirtualLinks    []AffectedVirtualLink    `json:"affectedVirtualLinks,omitempty"`
	AffectedVirtualStorages []AffectedVirtualStorage `json:"affectedVirtualStorages,omitempty"`
}

// ChangeType of an affected resource.
type ChangeType string

// The changes of a VNFC (SOL003 v2.6.1 5.5.3.12). Virtual links (5.5.3.13) and virtual storages (5.5.3.14) use the same
// names.
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

// AffectedVirtualLink is an internal network that an operation has changed (SOL003 v2.6.1 5.5.3.13).
type AffectedVirtualLink struct {
	ID                string         `json:"id"`
	VirtualLinkDescID string         `json:"virtualLinkDescId"`
	ChangeType        ChangeType     `json:"changeType"`
	NetworkResource   ResourceHandle `json:"networkResource"`
}

// AffectedVirtualStorage is a volume that an operation has changed (SOL003 v2.6.1 5.5.3.14).
type AffectedVirtualStorage struct {
	ID                   string         `json:"id"`
	VirtualStorageDescID string         `json:"virtualStorageDescId"`
	ChangeType           ChangeType     `json:"changeType"`
	StorageResource      ResourceHandle `json:"storageResource"`
}
