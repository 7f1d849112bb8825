// Package code has the classes of errors of vnflcm and of its stores, which both export by their own names.
package code

// Code is a class of error with a stable name.
type Code string

func (c Code) Error() string { return "vnflcm: " + text[c] }

// The codes.
const (
	InvalidRequest Code = "invalid-request"
	NotFound       Code = "not-found"
	Conflict       Code = "conflict"
	State          Code = "state"
	NotSupported   Code = "not-supported"
	Cancelled      Code = "cancelled"
	Shutdown       Code = "shutdown"
	Leased         Code = "leased"
	PackageChanged Code = "package-changed"
	GrantRejected  Code = "grant-rejected"
	Programming    Code = "step-misused"
	Unreadable     Code = "store-record-unsealed"
	NoPackage      Code = "package-not-found"
	Precondition   Code = "precondition"
	Store          Code = "store"
	ProcessEnded   Code = "process-ended"
	Busy           Code = "busy"
)

var text = map[Code]string{
	InvalidRequest: "the request is invalid",
	NotFound:       "not found",
	Conflict:       "conflict",
	State:          "not possible in this state",
	NotSupported:   "not supported",
	Cancelled:      "the operation was cancelled",
	Shutdown:       "the manager is shutting down",
	Leased:         "another process works on this operation",
	PackageChanged: "the VNF package has changed since the instance was made from it",
	GrantRejected:  "the grant was rejected",
	Programming:    "a step was used against its rules",
	Unreadable:     "a stored record cannot be read: wrong key or damaged",
	NoPackage:      "there is no package with that VNFD",
	Precondition:   "the instance has another version",
	Store:          "the store has failed",
	ProcessEnded:   "the operation has ended its process",
	Busy:           "too many lists are read at once",
}
