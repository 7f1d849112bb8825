package mgmt

import (
	"io"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Artifacts opens files of the VNF package by the paths that requests give. The error wraps fs.ErrNotExist when there
// is none.
func Artifacts(op *vnflcm.Operation) func(path string) (io.ReadCloser, error) {
	return func(path string) (io.ReadCloser, error) {
		name, err := op.Package.Artifact(path)
		if err != nil {
			return nil, err
		}
		return op.Package.Open(name)
	}
}
