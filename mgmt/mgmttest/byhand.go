package mgmttest

import (
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// OperationByHand gives Operations that a program fills in itself to a driver: they have no store to work with, and the driver says so.
func OperationByHand(t *testing.T, driver vnflcm.MgmtDriver) {
	t.Helper()
	for name, data := range map[string]vnflcm.OperationData{
		"zero":        {},
		"instantiate": {Kind: vnflcm.OpInstantiate, Instantiate: &vnflcm.InstantiateVnfRequest{}},
		"heal":        {Kind: vnflcm.OpHeal, Heal: &vnflcm.HealVnfRequest{}},
	} {
		op := &vnflcm.Operation{OperationData: data}
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
