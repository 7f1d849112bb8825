package problem_test

import (
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// The program distinguishes the problems by their codes and prints them.
func ExampleList() {
	var err error = problem.List{{
		Position: problem.Position{File: "vnfd.yaml", Line: 12, Column: 7},
		Severity: problem.Error,
		Code:     problem.UnknownProperty,
		Message:  `tosca.nodes.nfv.Vdu.Compute has no property "nme"`,
		Nearest:  "name",
	}}
	fmt.Println(errors.Is(err, problem.Problem{Code: problem.UnknownProperty}))
	fmt.Println(err)
	// Output:
	// true
	// vnfd.yaml:12:7: tosca.nodes.nfv.Vdu.Compute has no property "nme"; did you mean "name"? [tosca.unknown-property]
}
