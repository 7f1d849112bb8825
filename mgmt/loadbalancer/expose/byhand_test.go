package expose_test

import (
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOperationByHand: an Operation that a program fills in itself has no store to work with.
func TestOperationByHand(t *testing.T) {
	t.Parallel()
	driver := expose.New(expose.Config{})
	for name, op := range map[string]*vnflcm.Operation{
		"zero":        {},
		"instantiate": {Kind: vnflcm.OpInstantiate, Instantiate: &vnflcm.InstantiateVnfRequest{}},
		"heal":        {Kind: vnflcm.OpHeal, Heal: &vnflcm.HealVnfRequest{}},
	} {
		if err := driver.Validate(t.Context(), op); !errors.Is(err, vnflcm.ErrProgramming) {
			t.Errorf("%s: Validate: error %v", name, err)
		}
		for hook, do := range driver.Hooks() {
			if err := do(t.Context(), op); !errors.Is(err, vnflcm.ErrProgramming) {
				t.Errorf("%s: %s: error %v", name, hook, err)
			}
		}
	}
}
