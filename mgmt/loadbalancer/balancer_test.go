package loadbalancer_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
)

func TestPutAndRemove(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	const theirs = "# of the distribution\n"
	if err := errors.Join(s.host.FS().MkdirAll("/etc/haproxy", 0o755), afero.WriteFile(s.host.FS(), loadbalancer.ConfigFile, []byte(theirs), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, "cluster/c", loadbalancer.Cluster(0, servers("m1"), servers("w1", "w2"))); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, "cnf/a", service("web", 30080)); err != nil {
		t.Fatal(err)
	}
	if s.file(loadbalancer.ConfigFile+".before-vnfkit") != theirs {
		t.Error("the file that was there is not kept")
	}
	for name, mode := range map[string]string{loadbalancer.PartsFile: "-rw-------", loadbalancer.ConfigFile: "-rw-r--r--"} {
		if info, err := s.host.FS().Stat(name); err != nil || info.Mode().String() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	// Services follow the machines of the cluster.
	if err := s.Put(ctx, "cluster/c", loadbalancer.Cluster(0, servers("m1"), servers("w2", "w3"))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m1 10.10.0.1:30080", "w2 10.10.1.2:30080", "w3 10.10.1.3:30080"}, s.servers(30080)); diff != "" {
		t.Error(diff)
	}
	parts, err := s.Parts(ctx)
	want := map[string]loadbalancer.Part{"cluster/c": loadbalancer.Cluster(0, servers("m1"), servers("w2", "w3")), "cnf/a": service("web", 30080)}
	if diff := cmp.Diff(want, parts, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if err := s.Put(ctx, "cnf/b", service("web", 8383)); !isPort(err, "cnf/b", "cluster/c") {
		t.Error(err)
	}
	unknown := service("x", 30090)
	unknown.Frontends[0].To = []string{"storage"}
	if err := s.Put(ctx, "cnf/b", unknown); err == nil || !strings.Contains(err.Error(), `the group "storage", which does not exist`) {
		t.Error(err)
	}
	// The cluster is removed and the service has no servers; then both are removed.
	for owner, want := range map[string]int{"cluster/c": 1} {
		if err := s.Remove(ctx, owner); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(s.file(loadbalancer.ConfigFile), "\nfrontend "); n != want || len(s.servers(30080)) != 0 {
			t.Errorf("%d frontends after %s, servers %q", n, owner, s.servers(30080))
		}
	}
	for range 2 {
		if err := s.Remove(ctx, "cnf/a"); err != nil {
			t.Fatal(err)
		}
	}
	if parts, err := s.Parts(ctx); err != nil || len(parts) != 0 || s.serving != nil {
		t.Errorf("left: %v, %v, %v", parts, s.serving, err)
	}
	if s.file(loadbalancer.ConfigFile+".before-vnfkit") != theirs {
		t.Error("the file that was there is not kept")
	}
	if names, err := afero.ReadDir(s.host.FS(), "/etc/haproxy"); err != nil || len(names) != 3 {
		t.Errorf("%v, %v", names, err)
	}
}

func isPort(err error, owner, taken string) bool {
	port, ok := errors.AsType[*loadbalancer.PortError](err)
	return ok && port.Owner == owner && port.Taken == taken
}

// TestManyWriters: concurrent calls of Put from several programs lose no changes.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := s.Put(t.Context(), "cluster/c", loadbalancer.Cluster(0, servers("m1"), servers("w1"))); err != nil {
		t.Fatal(err)
	}
	const writers = 24
	errs := make([]error, writers)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			b := loadbalancer.On(s.ssh)
			owner := fmt.Sprintf("cnf/%d", i)
			errs[i] = b.Put(t.Context(), owner, service("web", 30000+i))
			if i%3 == 0 && errs[i] == nil {
				errs[i] = b.Remove(t.Context(), owner)
			}
			if i%5 == 0 && errs[i] == nil {
				_, errs[i] = b.Drain(t.Context(), []string{"id-w1"}, 0)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	parts, err := s.Parts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []int{loadbalancer.DefaultPort}
	for i := range writers {
		_, ok := parts[fmt.Sprintf("cnf/%d", i)]
		if ok == (i%3 == 0) {
			t.Errorf("the part of writer %d: %t", i, ok)
		}
		if i%3 != 0 {
			want = append(want, 30000+i)
		}
	}
	slices.Sort(s.serving)
	if diff := cmp.Diff(want, s.serving); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"m1 10.10.0.1:30001"}, s.servers(30001)); diff != "" {
		t.Errorf("the drained server is led to:\n%s", diff)
	}
}
