package helmcli_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// undoing is a machine whose helm installs a chart that never becomes ready, and then removes it again.
type undoing struct {
	*machine
	looks []string // what "helm status" prints, one after the other, then that there is no release
}

func (u *undoing) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	switch {
	case slices.Contains(argv, "status") && len(u.looks) > 0:
		_, err := io.WriteString(stdout, u.looks[0])
		u.looks = u.looks[1:]
		return err
	case slices.Contains(argv, "status"):
		_, _ = io.WriteString(stderr, "Error: release: not found\n")
		return exit(1)
	case slices.Contains(argv, "install"):
		time.Sleep(short)
		_, _ = io.WriteString(stderr, "Error: INSTALLATION FAILED: release web failed, and has been uninstalled due to atomic being set: context deadline exceeded\n")
		return exit(1)
	}
	return u.machine.Run(ctx, argv, stdin, stdout, stderr)
}

// short is the timeout of an installation. The client looks at its objects each second of it.
const short = 4 * time.Second

// TestReasonOfAnUndoneInstallation: what did not become ready is known although the last look at the release has met
// helm while it removed the objects.
func TestReasonOfAnUndoneInstallation(t *testing.T) {
	t.Parallel()
	const waiting = `{"info":{"status":"pending-install","resources":{"apps/v1/Deployment":[{"kind":"Deployment","apiVersion":"apps/v1",
		"metadata":{"name":"web","namespace":"default","generation":2},"status":{"observedGeneration":1}}]}}}`
	for name, last := range map[string]string{
		"objects are gone":      `{"info":{"status":"pending-install","resources":{}}}`,
		"helm removes":          `{"info":{"status":"uninstalling","resources":{}}}`,
		"there is no more look": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, list, _ := machines(t, 1)
				runner := &undoing{machine: list[0], looks: []string{waiting}}
				if last != "" {
					runner.looks = append(runner.looks, last)
				}
				client, err := helmcli.New(helmcli.Config{Machines: []helmcli.Machine{{Name: "m1", Runner: runner}}, Dir: "/var/tacker/helm/x"})
				if err != nil {
					t.Fatal(err)
				}
				_, err = client.Install(t.Context(), helmclient.Install{Name: theWeb, Chart: helmclient.Chart{Path: "/charts/web"},
					Wait: helmclient.Wait{Timeout: short}, Atomic: true})
				detail, ok := errors.AsType[*helmclient.NotReadyError](err)
				if !ok || !errors.Is(err, helmclient.ErrNotReady) {
					t.Fatalf("%v: want a NotReadyError", err)
				}
				var names []string
				for _, o := range detail.Objects {
					names = append(names, o.Kind+" "+o.Name)
				}
				if diff := cmp.Diff([]string{"Deployment web"}, names); diff != "" {
					t.Errorf("what was not ready: %s", diff)
				}
			})
		})
	}
}
