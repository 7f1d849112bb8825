package vnflcm

import (
	"slices"
	"sync"
)

// maxWarnings bounds the warnings of an operation.
const maxWarnings = 100

// warnings collects the warnings of a phase.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) add(text string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// recordWarnings adds the warnings of a phase to the document of the operation.
func (rec *operationRecord) recordWarnings(w *warnings) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.texts {
		if len(rec.Occ.Warnings) < maxWarnings && !slices.Contains(rec.Occ.Warnings, text) {
			rec.Occ.Warnings = append(rec.Occ.Warnings, text)
		}
	}
}
