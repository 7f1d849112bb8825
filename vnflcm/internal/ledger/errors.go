package ledger

import "github.com/vnfkit/vnfkit/vnflcm/internal/code"

// Errors of this package, beside those of package store.
const (
	ErrUnreadable code.Code = "store-record-unsealed" // a record is damaged, or sealed under another key
	ErrLeased     code.Code = "leased"                // another process has the lease or the claim
	ErrStore      code.Code = "store"                 // the store has failed: the same call may succeed later
)
