package vnflcm

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// PackagePreview is what a CHANGE_VNFPKG changes.
type PackagePreview struct {
	From, To  string         // VNFDs
	FlavourID string         // after the change
	Batches   []PackageBatch // in their order
	// PauseAfter is the number of the batch after which the operation pauses, 0 for none.
	PauseAfter int
	// Losses is the data that ends, with the consent of the request. Irreversible is what rolling back does not undo.
	Losses       []DataLoss
	Irreversible []string
}

// write writes a line for each unit with its differences, and for each thing that ends or stays changed.
func (p *PackagePreview) write(out *strings.Builder) {
	_, _ = fmt.Fprintf(out, "VNFD %s -> %s\n", p.From, p.To)
	for _, b := range p.Batches {
		for _, u := range b.Units {
			_, _ = fmt.Fprintf(out, "  batch %d of %d: %s %s %s %s\n", b.Number, b.Of, u.Change, u.Kind, u.label(), u.Method)
			for _, d := range u.Details {
				if d.From == "" && d.To == "" {
					_, _ = fmt.Fprintf(out, "    %s %s\n", d.Change, d.Name)
					continue
				}
				_, _ = fmt.Fprintf(out, "    %s: %q -> %q\n", d.Name, d.From, d.To)
			}
		}
		if b.Number == p.PauseAfter {
			_, _ = fmt.Fprintln(out, "  pause")
		}
	}
	for _, l := range p.Losses {
		_, _ = fmt.Fprintf(out, "Ends: %s %s\n", l.Resource, enumerate(l.With, ", "))
	}
	for _, text := range p.Irreversible {
		_, _ = fmt.Fprintf(out, "Not undone by rolling back: %s\n", text)
	}
}

// packagePreview returns what a CHANGE_VNFPKG changes, nil for another operation.
func (rec *operationRecord) packagePreview() *PackagePreview {
	c := rec.Package
	if c == nil {
		return nil
	}
	return &PackagePreview{From: rec.VNF.VnfdID, To: c.To.VnfdID, FlavourID: c.To.FlavourID, Batches: c.Batches, PauseAfter: c.PauseAfter,
		Losses: c.Plan.Losses, Irreversible: c.Plan.Irreversible}
}

// unitTasks are what the infrastructure driver does to the units of a batch.
func (s *session) unitTasks(p phase) (out []PlannedTask) {
	if s.op.Batch == nil {
		return []PlannedTask{{Phase: p.name, Why: "the VIM changes what belongs to no unit"}}
	}
	for _, u := range s.op.Batch.Units {
		out = append(out, PlannedTask{Phase: p.name, Name: strings.ToLower(string(u.Change)), On: u.ID, Machine: u.Name, Why: u.summary()})
	}
	return out
}

// summary names the differences of a unit.
func (u PackageUnit) summary() string {
	var parts []string
	for _, d := range u.Details {
		parts = append(parts, d.Name)
	}
	text := string(u.Kind)
	if u.Method != "" {
		text += " " + string(u.Method)
	}
	if len(parts) > 0 {
		text += ": " + enumerate(parts, ", ")
	}
	return text
}

// previewed is the phase of the tasks that a Previewer returns for p.
func (p phase) previewed() string {
	switch p.part {
	case beforeBatch:
		return string(BeforeBatchPhase)
	case afterBatch:
		return string(AfterBatchPhase)
	case batchScripts, batchHealth, batchPause:
		return p.name
	case noBatchPart:
	}
	return string(p.hook)
}

// batchTasks are the tasks of a phase around a batch.
func (s *session) batchTasks(ctx context.Context, p phase) ([]PlannedTask, error) {
	why := ""
	switch p.part {
	case batchPause:
		why = "the operation pauses: a retry continues it"
	case batchScripts:
		why = "coordination scripts of the package run"
	case batchHealth:
		if len(s.healthCheckers()) > 0 {
			why = "the VNF must be healthy"
		}
	case beforeBatch, afterBatch:
		if slices.Contains(s.batchers(), p.maintainer) {
			return s.batcherTasks(ctx, p)
		}
	case noBatchPart:
	}
	if why == "" {
		return nil, nil
	}
	return []PlannedTask{{Phase: p.previewed(), Why: why}}, nil
}

// batcherTasks are the tasks of a management driver around a batch.
func (s *session) batcherTasks(ctx context.Context, p phase) (list []PlannedTask, err error) {
	if driver, tells := s.m.cfg.Mgmt[p.maintainer].(Previewer); tells {
		err = s.call(ctx, func() (err error) { list, err = driver.Preview(ctx, s.op); return err })
		return list, err
	}
	why := "the driver " + p.maintainer + " prepares the machines"
	if p.part == afterBatch {
		why = "the driver " + p.maintainer + " takes the machines back"
	}
	return []PlannedTask{{Phase: p.previewed(), Why: why}}, nil
}
