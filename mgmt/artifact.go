package mgmt

import (
	"io"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Artifacts returns a function that opens files of the VNF package by the paths in requests. The error wraps
// fs.ErrNotExist if the file does not exist.
func Artifacts(op *vnflcm.Operation) func(path string) (io.ReadCloser, error) {
	return func(path string) (io.ReadCloser, error) {
		name, err := op.Package.Artifact(path)
		if err != nil {
			return nil, err
		}
		return op.Package.Open(name)
	}
}
