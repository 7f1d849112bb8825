package openstack_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// found returns kind, resource and name of findings. Details must have no secrets.
func found(t *testing.T, list []vnflcm.Finding, err error) (out []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if strings.Contains(f.Detail, secret) {
			t.Errorf("a secret: %+v", f)
		}
		out = append(out, strings.Join([]string{string(f.Kind), f.Resource, f.Name}, " "))
	}
	return out
}

// TestInspect plants differences between the record and the cloud.
func TestInspect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant func(l *lab, s *fakeStack, servers map[string]string)
		want  func(stack, server string) []string
	}{
		"nothing differs": {func(*lab, *fakeStack, map[string]string) {}, func(string, string) []string { return nil }},
		"the stack was deleted": {func(l *lab, s *fakeStack, _ map[string]string) { delete(l.stacks, s.Name) },
			func(stack, _ string) []string { return []string{"missing stack " + stack} }},
		"a stack of another program": {func(l *lab, s *fakeStack, _ map[string]string) { s.ID, s.tags = l.fake.id(), "other" },
			func(stack, _ string) []string { return []string{"differs stack " + stack} }},
		"the stack has failed": {func(_ *lab, s *fakeStack, _ map[string]string) { s.status = "UPDATE_FAILED" },
			func(stack, _ string) []string { return []string{"differs stack " + stack} }},
		"the stack lost its tags": {func(_ *lab, s *fakeStack, _ map[string]string) { s.tags = "" },
			func(stack, _ string) []string { return []string{"differs stack " + stack} }},
		"a server was deleted": {func(l *lab, _ *fakeStack, servers map[string]string) {
			one := servers[slices.Sorted(maps.Keys(servers))[0]]
			l.fault = func(r *http.Request) int {
				if strings.HasSuffix(r.URL.Path, "/servers/"+one) {
					return http.StatusNotFound
				}
				return 0
			}
		}, func(_, server string) []string { return []string{"missing machine " + server} }},
		"the cloud refuses": {func(l *lab, _ *fakeStack, _ map[string]string) {
			l.fault = func(r *http.Request) int {
				if strings.HasPrefix(r.URL.Path, "/heat/") {
					return http.StatusForbidden
				}
				return 0
			}
		}, func(string, string) []string { return []string{"unknown resources "} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV2)
			servers := l.must(l.instantiate())
			inst, err := l.Get(t.Context(), l.id)
			if err != nil {
				t.Fatal(err)
			}
			l.mu.Lock()
			c.plant(l, l.stacks[openstack.StackName(l.id)], servers)
			l.mu.Unlock()
			list, err := l.Diagnose(t.Context(), l.id)
			got := found(t, list, err)
			first := slices.Sorted(maps.Keys(servers))[0]
			server := ""
			for _, f := range list {
				if f.ID == first {
					server = f.Name
				}
			}
			if diff := cmp.Diff(c.want(openstack.StackName(l.id), server), got); diff != "" {
				t.Errorf("%s\n%+v", diff, list)
			}
			if again, err := l.Get(t.Context(), l.id); err != nil || again.Version != inst.Version {
				t.Errorf("the instance has changed: %v", err)
			}
		})
	}
}

// TestMarked finds stacks and images that no record has, on more than one page.
func TestMarked(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	l.must(l.instantiate())
	want := []string{}
	l.mu.Lock()
	for n := range 205 {
		id := fmt.Sprintf("gone-%03d", n)
		name := openstack.StackName(id)
		l.stacks[name] = &fakeStack{Name: name, ID: l.fake.id(), tags: "vnfkit," + id, status: "CREATE_COMPLETE"}
		l.add("i", map[string]any{"tags": []any{"vnfkit", "vnf-" + id, "vnf-" + l.id}})
		want = append(want, "stray image ", "stray stack "+name)
	}
	l.stacks["theirs"] = &fakeStack{Name: "theirs", ID: l.fake.id(), tags: "vnfkit,theirs"} // not the name that the driver gives
	l.add("foreign", map[string]any{"tags": []any{"vnf-gone"}})
	l.mu.Unlock()
	list, err := l.DiagnoseAll(t.Context())
	if diff := cmp.Diff(want, found(t, list, err)); diff != "" {
		t.Error(diff)
	}
	l.mu.Lock()
	l.fault = func(*http.Request) int { return http.StatusServiceUnavailable }
	l.mu.Unlock()
	list, err = l.DiagnoseAll(t.Context())
	for _, text := range found(t, list, err) {
		if !strings.HasPrefix(text, "unknown ") {
			t.Errorf("without the cloud: %s", text)
		}
	}
}
