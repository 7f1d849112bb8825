package openstack_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestFailedStacks scales and heals a VNF whose stack a person or a failure has left in a state, and terminates it. In states in which Heat
// refuses updates, the operation fails before it marks a resource, and a retry continues after the remedy.
func TestFailedStacks(t *testing.T) {
	t.Parallel()
	for status, remedy := range map[string]string{
		"CREATE_FAILED": "", "UPDATE_FAILED": "", "CHECK_FAILED": "", "ROLLBACK_FAILED": "", "ROLLBACK_COMPLETE": "", "RESUME_FAILED": "", "SNAPSHOT_FAILED": "",
		"SUSPEND_COMPLETE": "resume the stack", "SUSPEND_FAILED": "resume the stack", "DELETE_FAILED": "heal the whole VNF with additionalParams.all",
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV2)
			before := l.must(l.instantiate())
			become := func(status string) {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.stacks[openstack.StackName(l.id)].status = status
			}
			become(status)
			opID, err := l.heal("", slices.Sorted(maps.Keys(before))[0])
			if err == nil {
				_, err = l.Wait(t.Context(), opID)
			}
			if (err != nil) != (remedy != "") {
				t.Fatalf("error %v", err)
			}
			if remedy != "" {
				if !errors.Is(err, openstack.ErrNoUpdate) || !strings.Contains(err.Error(), remedy) || !strings.Contains(err.Error(), status) {
					t.Fatalf("error %v", err)
				}
				if marks := l.marked(); marks > 0 {
					t.Errorf("%d resources were marked", marks)
				}
			}
			switch {
			case remedy == "":
			case status == "DELETE_FAILED":
				if err := l.Fail(t.Context(), opID); err != nil {
					t.Fatal(err)
				}
				l.must(l.heal("true"))
			default:
				become("RESUME_COMPLETE")
				l.must(opID, l.Retry(t.Context(), opID))
			}
			if after := l.must(l.scale(vnflcm.ScaleOut, 1)); len(after) != len(before)+1 {
				t.Errorf("%v after scaling out, %v before", after, before)
			}
			become(status)
			l.must(l.terminate())
			if left := l.stacks[openstack.StackName(l.id)]; left != nil {
				t.Errorf("%+v is left", left)
			}
		})
	}
}

// marked returns how often a resource was marked as unhealthy.
func (l *lab) marked() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for pattern, times := range l.requests {
		if strings.HasPrefix(pattern, "PATCH ") && strings.Contains(pattern, "/resources/") {
			n += times
		}
	}
	return n
}
