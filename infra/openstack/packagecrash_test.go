package openstack_test

import (
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// TestCrashOfPackageChange ends the process in the steps of a change of the package, and of its rollback after two of three VNFCs.
func TestCrashOfPackageChange(t *testing.T) {
	t.Parallel()
	for _, point := range crashtest.Points {
		for _, step := range []string{"prepare-package", "update-stack", "change-members", "complete-stack", "rollback update-stack", "rollback change-members", "rollback restore-stack"} {
			if point == crashtest.InsideDo && step == "prepare-package" {
				continue // the step changes nothing outside of the process
			}
			if !fulltest.Enabled() && point != crashtest.InsideDo && point != crashtest.JournalLost {
				continue
			}
			t.Run(step+" "+string(point), func(t *testing.T) {
				t.Parallel()
				l := newLabOf(t, openstack.VimTypeV2, twoPackages(nextPackage(t, append(nextImage, nextFlavor...)...)))
				l.must(l.instantiate())
				before := l.servers()
				step, isRollback := strings.CutPrefix(step, "rollback ")
				occ, err := l.crashIn(beginChange(isRollback), point, func(s vnflcm.StepInfo) bool {
					return s.Name == step && strings.Contains(s.Phase, "_rollback") == isRollback
				})
				want := map[bool]vnflcm.OperationState{true: vnflcm.RolledBack, false: vnflcm.Completed}[isRollback]
				if occ == nil || occ.OperationState != want {
					t.Fatalf("%+v: %v", occ, err)
				}
				if got := changed(before, l.servers()); len(got) != 0 {
					t.Errorf("changed servers %v", got)
				}
				i := map[bool]int{true: 0, false: 1}[isRollback]
				l.settle(nextImage[i], nextFlavor[i])
			})
		}
	}
}

// beginChange returns what changes the package, or what changes it for two VNFCs and begins to roll back.
func beginChange(rollback bool) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		if !rollback {
			return l.changePackage(nextVNFD, "{}")
		}
		opID, err := l.changePackage(nextVNFD, `{"pause_after": 2}`)
		l.ends(opID, err, vnflcm.FailedTemp)
		return opID, l.Rollback(l.t.Context(), opID)
	}
}
