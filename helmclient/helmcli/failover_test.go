package helmcli_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

var theWeb = helmclient.Name{Release: "web"}

// TestFailover loses the first machine at each moment of an operation. Whatever helm had done there until then, the
// operation is carried out once.
func TestFailover(t *testing.T) {
	t.Parallel()
	full := helmclient.Name{Namespace: "default", Release: "web"}
	deployed := func(c *cluster) { c.becomes(full, 2, helmclient.Deployed) }
	for _, tc := range []struct {
		name   string
		before func(*cluster)
		verb   string
		lost   func(c *cluster, m *machine) // the last calls of the first helm before its connection is lost
		begun  []string
		fails  string
	}{
		{name: "never reached", verb: "install", lost: nil, begun: []string{"m2 install"}},
		{name: "before it began", verb: "install", lost: func(*cluster, *machine) {}, begun: []string{"m1 install", "m2 install"}},
		{name: "after it was done", verb: "install", lost: func(c *cluster, _ *machine) { c.becomes(full, 1, helmclient.Deployed) }, begun: []string{"m1 install"}},
		{name: "it fails unheard", verb: "install", lost: func(c *cluster, _ *machine) { c.becomes(full, 1, helmclient.Failed) }, begun: []string{"m1 install"}, fails: "failed"},
		{name: "it goes on", verb: "install", begun: []string{"m1 install"}, lost: func(c *cluster, _ *machine) {
			c.becomes(full, 1, helmclient.PendingInstall)
			time.AfterFunc(time.Minute, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.becomes(full, 1, helmclient.Deployed)
			})
		}},
		{name: "it appears late", verb: "install", begun: []string{"m1 install"}, lost: func(c *cluster, _ *machine) {
			time.AfterFunc(5*time.Second, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.becomes(full, 1, helmclient.Deployed)
			})
		}},
		{name: "it never ends", verb: "install", begun: []string{"m1 install"}, fails: "another operation|has not finished", lost: func(c *cluster, _ *machine) {
			c.becomes(full, 1, helmclient.PendingInstall)
		}},
		{name: "upgrade before", before: deployed, verb: "upgrade", lost: func(*cluster, *machine) {}, begun: []string{"m1 upgrade", "m2 upgrade"}},
		{name: "upgrade after", before: deployed, verb: "upgrade", lost: func(c *cluster, _ *machine) { c.becomes(full, 3, helmclient.Deployed) }, begun: []string{"m1 upgrade"}},
		{name: "rollback before", before: deployed, verb: "rollback", lost: func(*cluster, *machine) {}, begun: []string{"m1 rollback", "m2 rollback"}},
		{name: "rollback after", before: deployed, verb: "rollback", lost: func(c *cluster, _ *machine) { c.becomes(full, 3, helmclient.Deployed) }, begun: []string{"m1 rollback"}},
		{name: "uninstall before", before: deployed, verb: "uninstall", lost: func(*cluster, *machine) {}, begun: []string{"m1 uninstall", "m2 uninstall"}},
		{name: "uninstall after", before: deployed, verb: "uninstall", lost: func(c *cluster, _ *machine) { c.release = nil }, begun: []string{"m1 uninstall"}},
		{name: "uninstall goes on", before: deployed, verb: "uninstall", begun: []string{"m1 uninstall"}, lost: func(c *cluster, _ *machine) {
			c.becomes(full, 2, helmclient.Uninstalling)
			time.AfterFunc(time.Minute, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.release = nil
			})
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, list, c := machines(t, 2)
				if tc.before != nil {
					tc.before(c)
				}
				list[0].down = tc.lost == nil
				list[0].deploy = func(string) error {
					tc.lost(c, list[0])
					list[0].down = true
					return errLost
				}
				err := carryOut(t.Context(), client, tc.verb)
				if diff := cmp.Diff(tc.begun, c.begun); diff != "" {
					t.Error(diff)
				}
				if (err != nil) != (tc.fails != "") {
					t.Fatal(err)
				}
				if tc.fails == "" && (c.release == nil) != (tc.verb == "uninstall") {
					t.Error("unexpected release", c.release)
				}
			})
		})
	}
}

func carryOut(ctx context.Context, c *helmcli.Client, verb string) (err error) {
	in := helmclient.Install{Name: theWeb, Chart: helmclient.Chart{Path: "web"}}
	switch verb {
	case "install":
		_, err = c.Install(ctx, in)
	case "upgrade":
		_, err = c.Upgrade(ctx, helmclient.Upgrade{Install: in})
	case "rollback":
		_, err = c.Rollback(ctx, helmclient.Rollback{Name: theWeb})
	case "uninstall":
		err = c.Uninstall(ctx, helmclient.Uninstall{Name: theWeb})
	}
	return err
}

func TestNoMachineIsReached(t *testing.T) {
	t.Parallel()
	client, list, _ := machines(t, 2)
	list[0].down, list[1].down = true, true
	err := carryOut(t.Context(), client, "install")
	if !errors.Is(err, helmclient.ErrUnreachable) || !errors.Is(err, errLost) || !strings.Contains(err.Error(), "m1") || !strings.Contains(err.Error(), "m2") {
		t.Error(err)
	}
	list[1].down = false
	if err := carryOut(t.Context(), client, "install"); err != nil {
		t.Error(err)
	}
}

func TestClusterIsReachedFromOneMachineOnly(t *testing.T) {
	t.Parallel()
	client, list, c := machines(t, 2)
	list[0].stderr = "Error: Kubernetes cluster unreachable: Get \"https://10.0.0.1:6443/version\": dial tcp 10.0.0.1:6443: connect: connection refused\n"
	list[0].deploy = func(string) error { return exit(1) }
	if err := carryOut(t.Context(), client, "install"); err != nil || len(c.begun) != 2 {
		t.Error(err, c.begun)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{"v3.22.0": true, "v3.22": true, "v3.14.0+g123": true, "v3.13.9": false, "v2.17.0": false, "v4.0.1": false, "v4.2.1": true, "v4.3": true, "v5.0.0": false, "": false,
		"Client: v3": false, "v3.x": false} {
		client, list, _ := machines(t, 1)
		list[0].version = version
		if _, err := client.Status(t.Context(), theWeb); ok && !errors.Is(err, helmclient.ErrNotFound) || !ok && !errors.Is(err, helmclient.ErrInvalid) {
			t.Errorf("%q: %v", version, err)
		}
		client, list, _ = machines(t, 2)
		list[0].version = version
		if err := carryOut(t.Context(), client, "install"); err != nil {
			t.Errorf("%q on one of two machines: %v", version, err)
		}
	}
}

func TestContextEnds(t *testing.T) {
	t.Parallel()
	client, list, c := machines(t, 2)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	list[0].deploy = func(string) error {
		c.becomes(helmclient.Name{Namespace: "default", Release: "web"}, 1, helmclient.Failed)
		cancel(enough)
		return enough
	}
	err := carryOut(ctx, client, "install")
	if !errors.Is(err, enough) || !strings.Contains(err.Error(), "revision 1 is failed") || len(c.begun) != 1 {
		t.Error(err, c.begun)
	}
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	client, list, _ := machines(t, 1)
	deploy := list[0].deploy
	list[0].deploy = func(verb string) error {
		if err := client.Uninstall(t.Context(), helmclient.Uninstall{Name: helmclient.Name{Namespace: "default", Release: "web"}}); !errors.Is(err, helmclient.ErrBusy) {
			t.Error(err)
		}
		return deploy(verb)
	}
	if err := carryOut(t.Context(), client, "install"); err != nil {
		t.Error(err)
	}
}

// TestHelmThatStillRuns: however old a pending revision is, it is not marked as failed while its helm runs, here on the
// second machine.
func TestHelmThatStillRuns(t *testing.T) {
	t.Parallel()
	client, list, c := machines(t, 2)
	c.release = &helmclient.Release{Name: helmclient.Name{Namespace: "default", Release: "web"}, Revision: 1,
		State: helmclient.PendingInstall, Updated: time.Now().Add(-time.Hour)}
	list[1].held = true
	_, err := client.Upgrade(t.Context(), helmclient.Upgrade{Install: helmclient.Install{Name: c.release.Name, Stale: time.Nanosecond,
		Chart: helmclient.Chart{Path: "/charts/web"}}})
	if !errors.Is(err, helmclient.ErrBusy) || !strings.Contains(err.Error(), list[1].name) {
		t.Errorf("got %v", err)
	}
	for _, m := range list {
		for _, argv := range m.argvs {
			if argv[0] == "kubectl" {
				t.Errorf("%s: %q", m.name, argv)
			}
		}
	}
}
