package docs_test

import (
	"context"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
	"github.com/vnfkit/vnfkit/vnflcm/store/sqlite"
)

// deployment has the values that the programs of running.md have from elsewhere.
type deployment struct {
	key      []byte
	store    store.Store
	packages vnflcm.Packages
	infra    map[string]vnflcm.InfraDriver
	mgmt     map[string]vnflcm.MgmtDriver
	vims     vnflcm.VimConnections
	serve    func(context.Context, *vnflcm.Manager) error
}

// The bodies of these functions are the programs of running.md, so that they compile. The one with Temporal is in vnflcm/temporal.
var programs = []func(context.Context, deployment) error{alone, several, front, follow}

func alone(ctx context.Context, d deployment) error {
	key, packages, infra, mgmt, vims, serve := d.key, d.packages, d.infra, d.mgmt, d.vims, d.serve

	store, err := sqlite.Open(ctx, "/var/lib/vnfm/state.db") // mode 0600; the folder must be there
	if err != nil {
		return err
	}
	defer store.Close()
	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: store, Key: key, Packages: packages, Infra: infra, Mgmt: mgmt, KnownVIMs: vims})
	if err != nil {
		return err
	}
	defer manager.Close(context.WithoutCancel(ctx)) // stops steps under way; the next process continues at once
	return serve(ctx, manager)
}

func several(ctx context.Context, d deployment) error {
	key, packages, infra, mgmt, vims, serve := d.key, d.packages, d.infra, d.mgmt, d.vims, d.serve

	store, err := postgres.Open(ctx, "postgres://vnfm@db.example/vnfm?sslmode=verify-full", postgres.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: store, Key: key, Packages: packages, Infra: infra, Mgmt: mgmt, KnownVIMs: vims, Limit: 100})
	if err != nil {
		return err
	}
	defer manager.Close(context.WithoutCancel(ctx))
	return serve(ctx, manager) // every process takes requests; an operation starts where it was accepted
}

func front(ctx context.Context, d deployment) error {
	key, store, packages, infra, mgmt, serve := d.key, d.store, d.packages, d.infra, d.mgmt, d.serve

	front, err := vnflcm.New(ctx, vnflcm.Config{Store: store, Key: key, Packages: packages, Infra: infra, Mgmt: mgmt, AcceptOnly: true})
	if err != nil {
		return err
	}
	defer front.Close(context.WithoutCancel(ctx))
	return serve(ctx, front)
}

func follow(ctx context.Context, d deployment) error {
	manager, id := new(vnflcm.Manager), string(d.key)

	unfinished, err := manager.Operations(ctx, vnflcm.OperationQuery{InstanceID: id,
		States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack}})
	for _, operation := range unfinished.Items {
		_, err = manager.Wait(ctx, operation.ID) // the Manager has taken it up, or will
	}

	return err
}

// TestRunning holds that the programs of running.md are those above.
func TestRunning(t *testing.T) {
	t.Parallel()
	source, found := document(t, "running_test.go")+document(t, "../vnflcm/temporal/running_test.go"), 0
	for _, b := range block.FindAllStringSubmatch(document(t, "running.md"), -1) {
		if b[2] != "go" {
			continue
		}
		found++
		body := "\t" + strings.ReplaceAll(strings.TrimSuffix(b[3], "\n"), "\n", "\n\t")
		if !strings.Contains(source, "\n\n"+body+"\n") {
			t.Errorf("no test has this program:\n%s", b[3])
		}
	}
	if found != len(programs)+1 {
		t.Errorf("%d programs in running.md, %d in running_test.go and one in vnflcm/temporal", found, len(programs))
	}
}
