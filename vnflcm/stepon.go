package vnflcm

import (
	"fmt"
	"slices"
)

// Declare makes ids valid for Step.On until the end of the phase, in addition to those of the VNFCs: ids of machines that an
// InfraDriver is about to make or has found on the VIM, of volumes, of images. A driver declares them each time that it is called.
func (op *Operation) Declare(ids ...string) {
	if op.steps == nil {
		return // Run refuses every step here
	}
	op.steps.mu.Lock()
	defer op.steps.mu.Unlock()
	op.steps.declared = append(op.steps.declared, ids...)
}

// checkOn returns ErrProgramming unless a step is on the whole VNF, on a VNFC, or on an id that the driver has declared.
func (op *Operation) checkOn(info StepInfo) error {
	known := func(id string) bool {
		_, isVNFC := op.vnfc(id)
		return isVNFC || op.steps.hasDeclared(id)
	}
	if info.On == "" || known(info.On) {
		return nil
	}
	swapped := ""
	if known(info.Name) {
		swapped = "; its name is such an id: name and On are swapped"
	}
	return fmt.Errorf("%w: On is %q, which is neither the id of a VNFC nor an id that the driver has declared by Operation.Declare%s", ErrProgramming, info.On, swapped)
}

func (g *stepGuard) hasDeclared(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Contains(g.declared, id)
}
