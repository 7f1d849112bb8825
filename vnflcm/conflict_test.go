package vnflcm_test

import (
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestConflictNamesHolder checks that ErrConflict names the operation that holds the lock, its state, and the calls that end the
// operation in this state.
func TestConflictNamesHolder(t *testing.T) {
	t.Parallel()
	for state, remedy := range map[vnflcm.OperationState]string{
		vnflcm.Starting:    "wait for it or cancel it",
		vnflcm.Processing:  "wait for it or cancel it",
		vnflcm.RollingBack: "wait for it or cancel it",
		vnflcm.FailedTemp:  "retry it, roll it back or fail it",
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			var x *toys
			var id, opID string
			if state == vnflcm.FailedTemp {
				x = newToys(t, nil)
				id = x.create()
				x.world.failAt("instantiate_end/init/", errCut)
				occ, _ := x.instantiate(id, "plain", state)
				opID = occ.ID
			} else {
				x, id, opID = inState(t, state)
			}
			_, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			for _, err := range []error{err, x.Delete(t.Context(), id, "")} {
				wantIs(t, err, vnflcm.ErrConflict)
				for _, part := range []string{id, opID, "INSTANTIATE", string(state), remedy} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%v does not name %q", err, part)
					}
				}
			}
		})
	}
	t.Run("not to be rolled back", func(t *testing.T) {
		t.Parallel()
		x := newToys(t, nil)
		id := x.instantiated("plain")
		x.world.failAt("heal_start/leave/master-0", errCut)
		opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
		x.wait(opID, err, vnflcm.FailedTemp)
		_, err = x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
		wantIs(t, err, vnflcm.ErrConflict)
		if !strings.Contains(err.Error(), "retry it or fail it") {
			t.Error(err)
		}
	})
}
