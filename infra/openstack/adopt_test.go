package openstack_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const foreignName = "vnflcm_made-elsewhere"

// newForeign creates a stack with two workers, with another name and without tags, and a lab with an empty store, which does not
// contain the stack.
func newForeign(t *testing.T, vimType string) *lab {
	t.Helper()
	l := newLab(t, vimType)
	l.must(l.instantiate())
	l.mu.Lock()
	s := l.stacks[openstack.StackName(l.id)]
	delete(l.stacks, s.Name)
	s.Name, s.tags = foreignName, ""
	l.stacks[s.Name] = s
	l.mu.Unlock()
	vim, err := l.VIMs().Get(t.Context(), "", "vim")
	if err != nil {
		t.Fatal(err)
	}
	l.store = store.NewMemory()
	l.Manager = l.start()
	if err := l.VIMs().Put(t.Context(), vim); err != nil {
		t.Fatal(err)
	}
	l.fault = func(r *http.Request) int {
		if r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
			t.Errorf("adopting wrote: %s %s", r.Method, r.URL.Path)
		}
		return 0
	}
	return l
}

// adopt adopts the stack with a request for the number of workers.
func (l *lab) adopt(stack string, workers int, change ...func(*vnflcm.InstantiateVnfRequest)) error {
	req := l.request("")
	for _, c := range change {
		c(&req)
	}
	_, err := l.Adopt(l.t.Context(), vnflcm.VnfInstance{ID: l.id, VnfdID: vnfdID, InstantiatedVnfInfo: &vnflcm.InstantiatedVnfInfo{
		ScaleStatus: []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: workers - 1}}}}, req, stack)
	return err
}

// TestAdopt adopts a stack and changes it: by an update, and by a new stack with the name that the driver chooses.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for _, byID := range []bool{false, true} {
		t.Run(fmt.Sprint("by id ", byID), func(t *testing.T) {
			t.Parallel()
			l := newForeign(t, openstack.VimTypeV1)
			name := foreignName
			if byID {
				name = l.stacks[foreignName].ID
			}
			if err := l.adopt(name, 2); err != nil {
				t.Fatal(err)
			}
			adopted := l.servers()
			l.fault = nil
			healed := l.must(l.heal("", slices.Min(slices.Collect(maps.Keys(adopted)))))
			if gone := changed(adopted, healed); len(adopted) != 3 || len(gone) != 1 {
				t.Errorf("healed %v to %v", adopted, healed)
			}
			if three := l.must(l.scale(vnflcm.ScaleOut, 1)); len(three) != 4 || len(changed(healed, three)) != 1 {
				t.Errorf("scaled %v to %v", healed, three)
			}
			if tags := l.stacks[foreignName].tags; !strings.Contains(tags, l.id) {
				t.Errorf("the stack has the tags %q", tags)
			}
			l.must(l.heal("true"))
			if l.stacks[foreignName] != nil || l.stacks[openstack.StackName(l.id)] == nil {
				t.Errorf("stacks after the creation of a new stack: %v", l.stacks)
			}
			l.must(l.terminate())
			if len(l.stacks) > 0 {
				t.Errorf("remaining stacks: %v", l.stacks)
			}
		})
	}
}

// TestAdoptRefused checks that the driver refuses a stack that it could not update later without replacing servers.
func TestAdoptRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		change  func(*fakeStack)
		request func(*vnflcm.InstantiateVnfRequest)
		stack   string
		workers int
		want    error
		text    string
	}{
		{name: "no stack", stack: "another", want: openstack.ErrNoStack, text: `resource: "another"`},
		{name: "no name", stack: "../stacks/other?x", want: vnflcm.ErrInvalidRequest, text: "is no name and no id of a stack"},
		{name: "of another instance", change: func(s *fakeStack) { s.tags = "vnfkit,another" }, want: openstack.ErrForeignStack},
		{name: "busy", change: func(s *fakeStack) { s.status = "UPDATE_IN_PROGRESS" }, want: vnflcm.ErrInvalidRequest, text: "is UPDATE_IN_PROGRESS"},
		{name: "failed", change: func(s *fakeStack) { s.status, s.reason = "UPDATE_FAILED", "no host" }, want: vnflcm.ErrInvalidRequest, text: "is UPDATE_FAILED (no host)"},
		{name: "suspended", change: func(s *fakeStack) { s.status = "SUSPEND_COMPLETE" }, want: vnflcm.ErrInvalidRequest},
		{name: "rolled back", change: func(s *fakeStack) { s.status = "ROLLBACK_COMPLETE" }, want: vnflcm.ErrInvalidRequest},
		{name: "fewer workers", workers: 1, want: vnflcm.ErrInvalidRequest, text: "has 2 VNFCs of VDU workerNode, not 1"},
		{name: "another template", change: func(s *fakeStack) { delete(s.template.(map[string]any)["resources"].(map[string]any), "node_ports") },
			want: vnflcm.ErrInvalidRequest, text: "other templates than the package has: resources.node_ports"},
		{name: "a file is missing", change: func(s *fakeStack) { s.files = map[string]any{} }, want: vnflcm.ErrInvalidRequest, text: "simple_nested_worker.yaml"},
		{name: "another image", change: func(s *fakeStack) {
			s.params["nfv"].(map[string]any)["VDU"].(map[string]any)["workerNode"].(map[string]any)["vcImageId"] = "old"
		}, request: func(r *vnflcm.InstantiateVnfRequest) {
			r.AdditionalParams, _ = vnflcm.ParseParams([]byte(`{"nfv": {"VDU": {"workerNode": {"vcImageId": "` + secret + `"}}}}`))
		}, want: vnflcm.ErrInvalidRequest, text: "additionalParams.nfv.VDU.workerNode.vcImageId: is not what the stack"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newForeign(t, openstack.VimTypeV2)
			if c.change != nil {
				c.change(l.stacks[foreignName])
			}
			if c.stack == "" {
				c.stack = foreignName
			}
			if c.workers == 0 {
				c.workers = 2
			}
			var changes []func(*vnflcm.InstantiateVnfRequest)
			if c.request != nil {
				changes = append(changes, c.request)
			}
			err := l.adopt(c.stack, c.workers, changes...)
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) || strings.Contains(fmt.Sprint(err), secret) {
				t.Errorf("%v, want %v and %q", err, c.want, c.text)
			}
			if _, err := l.Get(t.Context(), l.id); !errors.Is(err, vnflcm.ErrNotFound) {
				t.Errorf("the instance: %v", err)
			}
		})
	}
}

// TestAdoptTacker adopts with the document of an instance from version 2 of Tacker's API.
func TestAdoptTacker(t *testing.T) {
	t.Parallel()
	l := newForeign(t, openstack.VimTypeV2)
	text, err := os.ReadFile("testdata/tacker_instance.json")
	if err != nil {
		t.Fatal(err)
	}
	var known vnflcm.VnfInstance
	if _, err := vnflcm.DecodeRequest(text, &known); err != nil {
		t.Fatal(err)
	}
	adopted, err := l.Adopt(t.Context(), known, l.request(""), foreignName)
	if err != nil {
		t.Fatal(err)
	}
	want := []vnflcm.ScaleInfo{{AspectID: "master_instance"}, {AspectID: "worker_instance", ScaleLevel: 1}}
	if diff := cmp.Diff(want, adopted.InstantiatedVnfInfo.ScaleStatus); diff != "" || adopted.ID != known.ID || adopted.VnfInstanceName != "cluster" {
		t.Errorf("adopted %+v: %s", adopted, diff)
	}
}
