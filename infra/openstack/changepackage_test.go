package openstack_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const nextVNFD = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea1"

// nextImage and nextFlavor are what a second version of the sample package changes.
var (
	nextImage  = []string{"ubuntu-24.04-server-cloudimg-amd64", "ubuntu-26.04-server-cloudimg-amd64"}
	nextFlavor = []string{"m1.medium", "m1.large"}
)

// nextPackage is a second version of the sample package, with replacements in all files.
func nextPackage(t *testing.T, oldnew ...string) string {
	t.Helper()
	return packageWith(t, nextVNFD, oldnew...)
}

// packageWith is the sample package with a VNFD id, and with replacements in all files.
func packageWith(t *testing.T, vnfd string, oldnew ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	replacer := strings.NewReplacer(append([]string{vnfdID, vnfd}, oldnew...)...)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := root.ReadFile(path)
		if err != nil {
			return err
		}
		return root.WriteFile(path, []byte(replacer.Replace(string(text))), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// twoPackages has the sample package and a second version.
func twoPackages(next string) vnflcm.Packages {
	return vnflcm.PackagesFunc(func(_ context.Context, _, id string) (tosca.Source, error) {
		if id == nextVNFD {
			return tosca.File(next), nil
		}
		return tosca.File(samples), nil
	})
}

// newChangeLab has an instance of the sample package with a control-plane node and two workers, and a second version of the package.
func newChangeLab(t *testing.T, oldnew ...string) *lab {
	t.Helper()
	l := newLabOf(t, openstack.VimTypeV2, twoPackages(nextPackage(t, oldnew...)))
	l.must(l.instantiate())
	return l
}

func (l *lab) changePackage(vnfd, params string) (string, error) {
	l.t.Helper()
	p, err := vnflcm.ParseParams([]byte(params))
	if err != nil {
		l.t.Fatal(err)
	}
	return l.ChangeVnfPkg(l.t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: vnfd, AdditionalParams: p})
}

// ends waits for an operation that ends in a state with an error, and returns the text of the error.
func (l *lab) ends(opID string, err error, state vnflcm.OperationState) string {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	occ, err := l.Wait(l.t.Context(), opID)
	if occ == nil || occ.OperationState != state || err == nil {
		l.t.Fatalf("operation %+v: %v", occ, err)
	}
	return err.Error()
}

// shown describes the servers on the cloud: their images and flavors by the name of the member.
func (l *lab) shown() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]string{}
	l.each(func(m *member) {
		p := propertiesOf(m.def)
		out[m.name] = fmt.Sprint(p["image"], " ", p["flavor"])
	})
	return out
}

// packageOf returns the VNFDs by which VNFCs run, by VNFC.
func (l *lab) packageOf() map[string]string {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	out := map[string]string{}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		out[v.ID] = v.VnfdID
	}
	return out
}

// settle checks that all servers have an image and a flavor, that Heat has changed no member by itself, and that later operations leave
// members alone.
func (l *lab) settle(image, flavor string) {
	l.t.Helper()
	for name, got := range l.shown() {
		if got != image+" "+flavor {
			l.t.Errorf("%s has %s", name, got)
		}
	}
	before := l.servers()
	out := l.must(l.scale(vnflcm.ScaleOut, 1))
	if len(changed(before, out)) != 1 {
		l.t.Errorf("scale out: %v\n%v", before, out)
	}
	for name, got := range l.shown() {
		if got != image+" "+flavor {
			l.t.Errorf("after scaling out %s has %s", name, got)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rolled != 0 {
		l.t.Errorf("Heat has changed %d members by itself", l.rolled)
	}
}

// TestChangePackage changes image, flavor and templates of the members of groups one by one, and back.
func TestChangePackage(t *testing.T) {
	t.Parallel()
	l := newChangeLab(t, append(slices.Concat(nextImage, nextFlavor), "description: A worker node", "description: A newer worker node", "manage_etc_hosts: false", "manage_etc_hosts: true",
		"  # The groups have the names", "  more_ports: {type: OS::Neutron::SecurityGroup}\n  # The groups have the names",
		"security_groups: [ { get_resource: node_ports } ]", "security_groups: [ { get_resource: node_ports }, { get_resource: more_ports } ]")...)
	before := l.servers()
	l.must(l.changePackage(nextVNFD, "{}"))
	if diff := cmp.Diff(before, l.servers()); diff != "" {
		t.Errorf("servers:\n%s", diff)
	}
	l.mu.Lock()
	l.each(func(m *member) {
		if m.rebuilt != 1 || m.resized != 1 {
			t.Errorf("%s was rebuilt %d and resized %d times", m.name, m.rebuilt, m.resized)
		}
	})
	files := l.stacks[openstack.StackName(l.id)].files.(map[string]any)
	if len(files) != 3 {
		t.Errorf("files %q", slices.Collect(maps.Keys(files)))
	}
	l.mu.Unlock()
	l.settle(nextImage[1], nextFlavor[1])
	l.must(l.changePackage(vnfdID, "{}"))
	l.settle(nextImage[0], nextFlavor[0])
	l.must(l.terminate())
}

// TestRolledBackPackage rolls back after two of three VNFCs, and after all of them.
func TestRolledBackPackage(t *testing.T) {
	t.Parallel()
	for _, after := range []int{1, 2, 3} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			l := newChangeLab(t, slices.Concat(nextImage, nextFlavor)...)
			opID, err := l.changePackage(nextVNFD, fmt.Sprintf(`{"pause_after": %d}`, after))
			l.ends(opID, err, vnflcm.FailedTemp)
			if err := l.Rollback(t.Context(), opID); err != nil {
				t.Fatal(err)
			}
			if occ, err := l.Wait(t.Context(), opID); occ.OperationState != vnflcm.RolledBack {
				t.Fatalf("operation %+v: %v", occ, err)
			}
			rebuilt := 0
			l.mu.Lock()
			l.each(func(m *member) { rebuilt += m.rebuilt })
			l.mu.Unlock()
			if rebuilt != 2*after {
				t.Errorf("servers were rebuilt %d times, want %d", rebuilt, 2*after)
			}
			l.settle(nextImage[0], nextFlavor[0])
		})
	}
}

// TestFailingMember has a member that Heat cannot change: the operation fails and rolls back by itself.
func TestFailingMember(t *testing.T) {
	t.Parallel()
	l := newChangeLab(t, slices.Concat(nextImage, nextFlavor)...)
	l.mu.Lock()
	n := 0
	l.broken = func(*member) string {
		if n++; n == 2 {
			return "No valid host"
		}
		return ""
	}
	l.mu.Unlock()
	opID, err := l.changePackage(nextVNFD, `{"rollback_on_failure": true}`)
	if text := l.ends(opID, err, vnflcm.RolledBack); !strings.Contains(text, "UPDATE_FAILED") {
		t.Error(text)
	}
	l.settle(nextImage[0], nextFlavor[0])
}

// TestFailedMember gives a change up whose first server Nova could not change: its VNFC runs by the former package, and the next change
// includes it, although Heat has the new definition already.
func TestFailedMember(t *testing.T) {
	t.Parallel()
	l := newChangeLab(t, slices.Concat(nextImage, nextFlavor)...)
	before := l.packageOf()
	l.mu.Lock()
	l.broken = func(*member) string { return "No valid host" }
	l.mu.Unlock()
	opID, err := l.changePackage(nextVNFD, "{}")
	l.ends(opID, err, vnflcm.FailedTemp)
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, l.packageOf()); diff != "" {
		t.Errorf("packages of VNFCs:\n%s", diff)
	}
	l.mu.Lock()
	l.broken = nil
	l.mu.Unlock()
	l.must(l.changePackage(nextVNFD, "{}"))
	l.settle(nextImage[1], nextFlavor[1])
}

// TestMixedVNF gives a change up after one VNFC. Healing and scaling leave each VNFC with its package, and a change to either of the two
// ends the mixture.
func TestMixedVNF(t *testing.T) {
	t.Parallel()
	for _, to := range []string{nextVNFD, vnfdID} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			l := newChangeLab(t, slices.Concat(nextImage, nextFlavor)...)
			opID, err := l.changePackage(nextVNFD, `{"pause_after": 1}`)
			l.ends(opID, err, vnflcm.FailedTemp)
			if err := l.Fail(t.Context(), opID); err != nil {
				t.Fatal(err)
			}
			mixed, runs := l.shown(), l.packageOf()
			l.must(l.heal(""))
			if diff := cmp.Diff(mixed, l.shown()); diff != "" {
				t.Errorf("healed:\n%s", diff)
			}
			if diff := cmp.Diff(runs, l.packageOf()); diff != "" {
				t.Errorf("healed:\n%s", diff)
			}
			l.must(l.scale(vnflcm.ScaleOut, 1))
			counts := map[string]int{}
			for _, v := range l.shown() {
				counts[v]++
			}
			if diff := cmp.Diff(map[string]int{nextImage[0] + " " + nextFlavor[0]: 3, nextImage[1] + " " + nextFlavor[1]: 1}, counts); diff != "" {
				t.Errorf("scaled out:\n%s", diff)
			}
			l.must(l.changePackage(to, "{}"))
			i := slices.Index([]string{vnfdID, nextVNFD}, to)
			l.settle(nextImage[i], nextFlavor[i])
		})
	}
}

// TestRenamedPort changes to a package with another connection point: the link of the former one is no fault of later operations.
func TestRenamedPort(t *testing.T) {
	t.Parallel()
	l := newChangeLab(t, "workerNode_CP2", "workerNode_CP3")
	params, err := vnflcm.ParseParams([]byte(`{"allow_data_loss": ["workerNode"]}`))
	if err != nil {
		t.Fatal(err)
	}
	links := func(cp string) []vnflcm.ExtVirtualLinkData {
		return []vnflcm.ExtVirtualLinkData{{ID: "net0_worker", ResourceID: "net", ExtCps: []vnflcm.VnfExtCpData{{CpdID: cp}}}}
	}
	_, err = l.ChangeVnfPkg(t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: nextVNFD, AdditionalParams: params, ExtVirtualLinks: links("workerNode_CP2")})
	if err == nil || !strings.Contains(err.Error(), "the flavour has no such connection point") {
		t.Fatalf("error %v", err)
	}
	l.must(l.ChangeVnfPkg(t.Context(), l.id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: nextVNFD, AdditionalParams: params, ExtVirtualLinks: links("workerNode_CP3")}))
	l.must(l.heal(""))
}
