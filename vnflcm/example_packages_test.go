package vnflcm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// withoutRevoked refuses packages of revoked signers at first use. Instances that were made from them earlier stay
// manageable.
type withoutRevoked struct {
	vnflcm.Packages
	revoked map[string]bool // serial numbers
}

func (p withoutRevoked) Open(ctx context.Context, tenant, vnfdID, digest string) (*tosca.Package, error) {
	pkg, err := p.Packages.Open(ctx, tenant, vnfdID, digest)
	if err != nil || digest != "" {
		return pkg, err
	}
	for _, signer := range pkg.Signers() {
		if c := signer.Certificate; c != nil && p.revoked[c.SerialNumber.String()] {
			_ = pkg.Close()
			return nil, fmt.Errorf("the certificate %s of %s is revoked", c.SerialNumber, c.Subject)
		}
	}
	return pkg, nil
}

// The program uses a folder of packages and a list of signers whose packages must not be used for new instances. To accept only signed
// packages, pass tosca.WithIntegrity to DirPackages.
func ExamplePackages() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "packages")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(filepath.Join(dir, "toy"), toyFS("cluster")); err != nil {
		fmt.Println(err)
		return
	}
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: testKey,
		Packages: withoutRevoked{vnflcm.DirPackages(dir), map[string]bool{"4711": true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = manager.Close(ctx) }()
	instance, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: toyVNFD})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(instance.VnfProductName)
	// Output:
	// Toy cluster
}
