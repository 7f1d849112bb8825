// Package code has the type of the errors of vnflcm and of its stores. Both export some of them: equal codes are the same error.
package code

// Code is a class of error with a stable name.
type Code string

func (c Code) Error() string { return "vnflcm: " + text[c] }

var text = map[Code]string{
	"invalid-request":       "the request is invalid",
	"not-found":             "not found",
	"conflict":              "conflict",
	"state":                 "not possible in this state",
	"not-supported":         "not supported",
	"cancelled":             "the operation was cancelled",
	"shutdown":              "the manager is shutting down",
	"leased":                "another process works on this operation",
	"package-changed":       "the VNF package has changed since the instance was made from it",
	"grant-rejected":        "the grant was rejected",
	"nfvo-unreachable":      "the NFVO does not answer",
	"step-misused":          "a step was used against its rules",
	"driver-answer":         "the answers of the infrastructure driver do not fit together",
	"store-record-unsealed": "a stored record cannot be read: wrong key or damaged",
	"package-not-found":     "there is no package with that VNFD",
	"precondition":          "the instance has another version",
	"store":                 "the store has failed",
	"process-ended":         "the operation has ended its process",
	"busy":                  "too many lists are read at once",
	"paused":                "the operation is paused",
}
