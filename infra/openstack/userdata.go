package openstack

import (
	"context"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Definition is what a stack is made from, or updated to.
type Definition struct {
	Template   *hot.Template
	Parameters map[string]any // of the template, by name: "nfv" and the package's own
}

// UserDataRequest is what a UserData function is given.
type UserDataRequest struct {
	Op *vnflcm.Operation
	// Template is the base HOT of the flavour: a copy, the function may change it.
	Template *hot.Template
	// Current are the parameters that the stack has; nil when it is made.
	Current map[string]any
	// Images are the ids in Glance of the images that were uploaded from the package, by the VDU or storage. While a request is only
	// being checked, images that will be uploaded are missing.
	Images map[string]string
}

// UserData computes what the stack of a VNF is made from: what the UserData classes of Tacker packages do in
// Python. It is called for every operation that makes or changes the stack, also while the request is only
// being checked, and again after a crash: it touches nothing and answers the same each time. Its faults are
// *vnflcm.ParamError, joined.
type UserData func(ctx context.Context, req UserDataRequest) (Definition, error)
