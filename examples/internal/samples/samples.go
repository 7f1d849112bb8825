// Package samples finds the sample packages and their requests: the examples are run from a checkout.
package samples

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Package is the directory of a sample package, beside this source.
func Package(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "packages", name)
}

// Packages are VNF packages on disk, by the id of their VNFD.
type Packages map[string]string

// Add reads a package and returns the id of its VNFD.
func (p Packages) Add(ctx context.Context, path string) (vnfdID string, err error) {
	pkg, err := tosca.Open(ctx, path)
	if err != nil {
		return "", err
	}
	id := pkg.VNFD().ID
	p[id] = path
	return id, pkg.Close()
}

// Find is a function for vnflcm.PackagesFunc.
func (p Packages) Find(_ context.Context, _, vnfdID string) (tosca.Source, error) {
	path, found := p[vnfdID]
	if !found {
		return tosca.Source{}, vnflcm.ErrNotFound
	}
	return tosca.File(path), nil
}

// Request reads an instantiate request and lays other parameters over its own.
func Request(name string, over map[string]any) (request vnflcm.InstantiateVnfRequest, err error) {
	data, err1 := os.ReadFile(name)        //nolint:gosec // of the user's own package
	params, err2 := vnflcm.NewParams(over) // json.Marshal would mask the passwords
	if err := errors.Join(err1, err2); err != nil {
		return request, err
	}
	if _, err := vnflcm.DecodeRequest(data, &request); err != nil {
		return request, fmt.Errorf("%s: %w", name, err)
	}
	request.AdditionalParams, err = request.AdditionalParams.Merge(params)
	return request, err
}
