package mgmttest_test

import (
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// A test compares all faults that Validate of a driver reports, in a fixed order.
func ExampleFaults() {
	err := fmt.Errorf("the request is refused: %w", errors.Join(
		&vnflcm.ParamError{Path: "additionalParams.web_param.port", Value: "0", Reason: "must be 1 to 65535"},
		&vnflcm.ParamError{Path: "additionalParams.web_param.name", Reason: "is required"},
	))
	for _, fault := range mgmttest.Faults(err) {
		fmt.Println(fault)
	}
	// Output:
	// additionalParams.web_param.name: is required
	// additionalParams.web_param.port: "0": must be 1 to 65535
}
