package script_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/script"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// A Manager runs the scripts that the program names, and no other.
func ExampleNew() {
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	world, err := sandbox.Open(sandbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer world.Close()
	manager, err := vnflcm.New(context.Background(), vnflcm.Config{
		Store: store.NewMemory(), Key: []byte(rand.Text()),
		Packages: vnflcm.DirPackages(filepath.Join(os.TempDir(), "packages")),
		Infra:    map[string]vnflcm.InfraDriver{"sandbox": world},
		Mgmt:     map[string]vnflcm.MgmtDriver{"my-script": script.New("my-script", script.Config{Pool: pool})},
	})
	if err == nil {
		defer manager.Close(context.Background())
	}
	fmt.Println(manager != nil, err)
	// Output: true <nil>
}
