package vnflcm

import "github.com/vnfkit/vnfkit/vnflcm/internal/ledger"

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

// contentOf returns a value that the content of records of a kind is read into.
func contentOf(kind string) any {
	switch kind {
	case kindInstance, kindHook:
		return new(instanceRecord)
	case kindAbandoned:
		return new(AbandonedInstance)
	case kindOperation:
		return new(operationRecord)
	case kindHookInitial:
		return new(InstantiateVnfRequest)
	case ledger.KindProcess, ledger.KindLease:
		return new(ledger.LeaseRecord)
	case ledger.KindClaim:
		return new(ledger.ClaimRecord)
	case kindSuspect:
		return new(suspectRecord)
	case kindCancel:
		return new(cancelRequest)
	case kindGrantOrder:
		return new(grantOrder)
	case kindStep:
		return new(journalEntry)
	case kindHistory:
		return new(historyRecord)
	case kindCount:
		return new(MachineCount)
	case kindChange:
		return new(changeRecord)
	case kindVIM:
		return new(vimRecord)
	case kindVIMDefault, kindAdoption:
		return new(string)
	case kindVIMNotes:
		return new(vimNotes)
	case kindRemovedVIM:
		return new(removedVIM)
	case kindRenewal:
		return new(renewal)
	case kindExpiry:
		return new(expiryRecord)
	case kindEvidence:
		return new(evidenceRecord)
	case kindPackageUse:
		return new(packageUse)
	case kindSnapshot:
		return new(snapshotRecord)
	case kindAutomatic:
		return new(automaticRecord)
	}
	return new(any)
}

// records are the records of a Manager, in the ledger.
type records struct {
	*ledger.Ledger
	turns turns
}
