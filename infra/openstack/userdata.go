package openstack

import (
	"context"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Definition is the template and the parameters with which the driver creates or updates a stack.
type Definition struct {
	Template   *hot.Template
	Parameters map[string]any // values of the template's parameters by name: "nfv", and parameters that the package declares
}

// UserDataRequest is the argument of a UserData function: an operation, and the stack for which the function computes the
// template and the parameters.
type UserDataRequest struct {
	// Op is the operation with its request, package, flavour, grant and VNFCs. The function must not change it.
	Op *vnflcm.Operation
	// Template is a copy of the base HOT of the flavour. The function may change it.
	Template *hot.Template
	// Current holds the current values of the stack's parameters by name. It is nil if the stack is to be created.
	// Parameters that the template hides are missing: Heat does not show them.
	Current map[string]any
	// Images holds the Glance ids of the images that the driver has uploaded from the package, by the name of the VDU or
	// storage. While the Manager only checks a request, images that are still to be uploaded are missing.
	Images map[string]string
}

// UserData computes the template and the parameters of a VNF's stack. UserData classes in Tacker packages do the same in
// Python. The driver calls the function for every operation that creates or updates the stack: when the Manager checks the
// request, when the operation runs, and again after a crash. The function must have no side effects and must return the
// same result each time. It reports faults of the request as *vnflcm.ParamError, several of them with errors.Join.
type UserData func(ctx context.Context, req UserDataRequest) (Definition, error)
