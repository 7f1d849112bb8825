package vnflcm

import (
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
)

// Kinds of records.
const (
	kindInstance    = "instance"
	kindAbandoned   = "abandoned"
	kindAdoption    = "adoption"
	kindOperation   = "operation"
	kindHook        = "hook"
	kindHookInitial = "hook-initial"
	kindSuspect     = "suspect"
	kindCancel      = "cancel"
	kindGrantOrder  = "grant-order"
	kindStep        = "step"
	kindHistory     = "history"
	kindCount       = "count"
	kindChange      = "change"
	kindState       = "state"
	kindDocument    = "document"
	kindVIM         = "vim"
	kindVIMDefault  = "vim-default"
	kindVIMNotes    = "vim-notes"
	kindRenewal     = "renewal"
	kindRemovedVIM  = "vim-removed"
	kindExpiry      = "certificates"
	kindAutomatic   = "automatic"
	kindPackageUse  = "package-use"
	kindSnapshot    = "snapshot"
	kindEvidence    = "evidence"
)

// kind is a kind of records, with a function that returns a value which the content of the records is read into.
type kind struct {
	name    string
	content func() any
}

func newOf[T any]() any { return new(T) }

// lastingKinds are the kinds of records that Reseal seals under the newest key, in this order: the record of the format is the last one.
var lastingKinds = []kind{
	{kindInstance, newOf[instanceRecord]},
	{kindAbandoned, newOf[AbandonedInstance]},
	{kindAdoption, newOf[string]},
	{kindOperation, newOf[operationRecord]},
	{kindHook, newOf[instanceRecord]},
	{kindHookInitial, newOf[InstantiateVnfRequest]},
	{ledger.KindClaim, newOf[ledger.ClaimRecord]},
	{kindSuspect, newOf[suspectRecord]},
	{kindCancel, newOf[cancelRequest]},
	{kindGrantOrder, newOf[grantOrder]},
	{kindStep, newOf[journalEntry]},
	{kindHistory, newOf[historyRecord]},
	{kindCount, newOf[MachineCount]},
	{kindChange, newOf[changeRecord]},
	{kindState, newOf[any]},
	{kindDocument, newOf[any]},
	{kindVIM, newOf[vimRecord]},
	{kindVIMDefault, newOf[string]},
	{kindVIMNotes, newOf[vimNotes]},
	{kindRenewal, newOf[renewal]},
	{kindRemovedVIM, newOf[removedVIM]},
	{kindExpiry, newOf[expiryRecord]},
	{kindAutomatic, newOf[automaticRecord]},
	{kindPackageUse, newOf[packageUse]},
	{kindSnapshot, newOf[snapshotRecord]},
	{kindEvidence, newOf[evidenceRecord]},
	{ledger.KindMeta, newOf[any]},
}

// leaseKinds are the kinds of records that processes write again and again, under the newest key.
var leaseKinds = []kind{{ledger.KindProcess, newOf[ledger.LeaseRecord]}, {ledger.KindLease, newOf[ledger.LeaseRecord]}}

// contentOf returns a value that the content of records of a kind is read into.
func contentOf(name string) any {
	for _, k := range slices.Concat(lastingKinds, leaseKinds) {
		if k.name == name {
			return k.content()
		}
	}
	return new(any)
}

// records are the records of a Manager, in the ledger.
type records struct {
	*ledger.Ledger
	turns turns
}
