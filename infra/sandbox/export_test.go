package sandbox

import (
	"context"
	"maps"
	"slices"
)

// MachineIDs returns the resource ids of all machines.
func (w *World) MachineIDs(context.Context) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.machines)), nil
}
