package openstack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// workersOf returns the texts of the VNFD that give the VNF two workers at the level of the tests, and those that give it another number.
func workersOf(first, step int) []string {
	return []string{
		"number_of_instances: 1\n        targets: [ workerNode ]", fmt.Sprintf("number_of_instances: %d\n        targets: [ workerNode ]", first),
		"delta_1:\n              number_of_instances: 1\n        targets: [ workerNode ]", fmt.Sprintf("delta_1:\n              number_of_instances: %d\n        targets: [ workerNode ]", step),
		"level_1:\n              number_of_instances: 1\n            instantiation_level_2:\n              number_of_instances: 3",
		fmt.Sprintf("level_1:\n              number_of_instances: %d\n            instantiation_level_2:\n              number_of_instances: %d", first, first+2*step),
	}
}

// TestPlannedPackage previews changes: the method, what differs, and what is refused without consent.
func TestPlannedPackage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changed []string
		refused string // "" if the request needs no consent
		worker  string // what happens to a worker
	}{
		"flavor":        {nextFlavor, "", "MODIFIED in-place: flavour m1.medium m1.large"},
		"image":         {nextImage, "", "MODIFIED rebuild: image ubuntu-24.04-server-cloudimg-amd64 ubuntu-26.04-server-cloudimg-amd64"},
		"policy":        {append(slices.Clone(nextImage), "networks:\n", "image_update_policy: REPLACE\n      networks:\n"), "", "MODIFIED replace: image ubuntu-24.04-server-cloudimg-amd64 ubuntu-26.04-server-cloudimg-amd64"},
		"port":          {[]string{"network: { get_param: network }", "network: other"}, "the change ends the port workerNode_CP2 with its address of host-", "MODIFIED in-place: networks  , port workerNode_CP2  "},
		"configuration": {[]string{"manage_etc_hosts: false", "manage_etc_hosts: true"}, "", ""},
		"user data": {[]string{"manage_etc_hosts: false", "manage_etc_hosts: true", "user_data_update_policy: IGNORE", "user_data_update_policy: REPLACE"},
			"must name workerNode: the change ends the local disk of host-", "MODIFIED replace: user_data  "},
		"group": {[]string{"type: OS::Heat::AutoScalingGroup\n    properties:\n      min_size: 1\n      max_size: 50\n      desired_capacity: ", "type: OS::Heat::ResourceGroup\n    properties:\n      count: ",
			"      resource:\n        type: simple_nested_worker", "      resource_def:\n        type: simple_nested_worker"}, "worker_instance: OS::Heat::AutoScalingGroup becomes OS::Heat::ResourceGroup", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newChangeLab(t, c.changed...)
			request := vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: nextVNFD}
			preview, err := l.Preview(t.Context(), l.id, request)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("error %v, want %q", err, c.refused)
				}
				request.AdditionalParams, _ = vnflcm.ParseParams([]byte(`{"allow_data_loss": ["masterNode", "workerNode"]}`))
				preview, err = l.Preview(t.Context(), l.id, request)
			}
			if name == "group" {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.worker, workerIn(preview)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// workerIn describes what happens to the first worker.
func workerIn(p *vnflcm.Preview) string {
	for _, b := range p.Package.Batches {
		for _, u := range b.Units {
			if u.VDUs[0] != "workerNode" {
				continue
			}
			var details []string
			for _, d := range u.Details {
				details = append(details, d.Name+" "+d.From+" "+d.To)
			}
			return fmt.Sprint(u.Change, " ", u.Method, ": ", strings.Join(details, ", "))
		}
	}
	return ""
}

// TestNumbersOfPackage changes to a package with more workers at the same scale level, rolls back, and changes to one with fewer.
func TestNumbersOfPackage(t *testing.T) {
	t.Parallel()
	l := newChangeLab(t, append(slices.Concat(nextImage, nextFlavor), workersOf(2, 2)...)...)
	before := l.servers()
	opID, err := l.changePackage(nextVNFD, `{"pause_after": 4}`) // of a control-plane node, two workers, and two new ones
	l.ends(opID, err, vnflcm.FailedTemp)
	if n := len(l.shown()); n != 4 {
		t.Errorf("%d servers", n)
	}
	l.backAndOn(opID, before)
	l.settle(nextImage[0], nextFlavor[0])
}

// backAndOn rolls a paused change back, then adds two workers by the new package and removes them by the first one.
func (l *lab) backAndOn(opID string, before map[string]string) {
	l.t.Helper()
	if err := l.Rollback(l.t.Context(), opID); err != nil {
		l.t.Fatal(err)
	}
	if occ, err := l.Wait(l.t.Context(), opID); occ.OperationState != vnflcm.RolledBack {
		l.t.Fatalf("operation %+v: %v", occ, err)
	}
	if diff := cmp.Diff(before, l.servers()); diff != "" {
		l.t.Errorf("rolled back:\n%s", diff)
	}
	more := l.must(l.changePackage(nextVNFD, "{}"))
	if len(more) != 5 || len(changed(before, more)) != 2 {
		l.t.Errorf("%v\n%v", before, more)
	}
	if _, err := l.changePackage(vnfdID, "{}"); err == nil || !strings.Contains(err.Error(), "must name workerNode: the change ends the VNFC") {
		l.t.Errorf("error %v", err)
	}
	fewer := l.must(l.changePackage(vnfdID, `{"allow_data_loss": ["workerNode"]}`))
	if len(fewer) != 3 || len(changed(more, fewer)) != 0 {
		l.t.Errorf("%v\n%v", more, fewer)
	}
}
