package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// abandon gives a VNF instance up.
func (v *VNFM) abandon(ctx context.Context, words []string) error {
	id := words[0]
	left, err := v.PlanAbandon(ctx, id)
	if err != nil {
		return err
	}
	plan := fmt.Sprintf("The VNF instance %s (%s, %s) is removed from the database. An operation in FAILED_TEMP is failed first.\n",
		id, printable(left.VNF.InstanceName), printable(left.VNF.VnfProductName))
	text, err := remains(left)
	if err != nil {
		return err
	}
	return v.destroy(ctx, "abandon "+id, plan+text, func() error {
		_, err := v.Abandon(ctx, id)
		return err
	})
}

// remains lists what is left of an instance that is given up.
func remains(left *vnflcm.AbandonedInstance) (string, error) {
	rows := [][]string{}
	add := func(kind, id, name string) { rows = append(rows, []string{"", kind, id, name}) }
	for _, r := range left.Resources.VNFCs {
		add("machine", r.ResourceID, r.Name)
	}
	for _, r := range left.Resources.Storages {
		add("volume", r.ResourceID, r.Descriptor)
	}
	for _, r := range left.Resources.VirtualLinks {
		add("network", r.ResourceID, r.VLD)
	}
	for _, key := range slices.Sorted(maps.Keys(left.Resources.Metadata)) {
		add(key, left.Resources.Metadata[key], "")
	}
	for _, id := range left.RegisteredVIMs {
		add("VIM entry", id, "")
	}
	if len(rows) == 0 {
		return "Nothing is known that would be left on a VIM.\n", nil
	}
	var out strings.Builder
	fmt.Fprintf(&out, "This stays on the VIM %s (%s), and nothing removes it:\n", printable(left.VIM.VimID), printable(left.VIM.VimType))
	err := table(&out, rows)
	return out.String(), err
}

// effects says what the loss of a record means, by kind (docs/store.md). All other kinds lose the record alone.
var effects = map[string]string{
	"instance":  "The resources of the VNF instance stay on the VIM, and its operation must be ended by Fail.",
	"operation": "The operation ends as by Fail, and its VNF instance can be changed again.",
	"claim":     "Any process may take the operation up: make sure that no process works on it.",
}

// forget removes a record that cannot be read.
func (v *VNFM) forget(ctx context.Context, words []string) error {
	kind, id := words[0], words[1]
	if err := v.PlanForget(ctx, kind, id); err != nil {
		return err
	}
	plan := fmt.Sprintf("The record %s %s, which cannot be read, is removed. %s\n", printable(kind), printable(id), effects[kind])
	return v.destroy(ctx, "forget "+kind+" "+id, plan, func() error { return v.Forget(ctx, kind, id) })
}

// purge removes operations that have ended, and changes that all subscribers have got.
func (v *VNFM) purge(ctx context.Context, _ []string) error {
	if v.Retention.Completed == 0 {
		_, err := fmt.Fprintln(v.Out, "The configuration has no retention, so everything is kept.")
		return err
	}
	unsent, err := v.Unsent(ctx)
	if err != nil {
		return err
	}
	planned, err := v.PlanPurge(ctx, v.Retention, unsent...)
	if err != nil {
		return err
	}
	return v.destroy(ctx, "purge", v.purged("These are removed", planned), func() error {
		done, err := v.Purge(ctx, v.Retention, unsent...)
		_, errOut := fmt.Fprint(v.Out, v.purged("Removed", done))
		if err == nil {
			err = errOut
		}
		return err
	})
}

func (v *VNFM) purged(begin string, p vnflcm.Purged) string {
	age := func(d time.Duration) string {
		if d == 0 {
			return "kept for ever"
		}
		return "older than " + d.String()
	}
	return fmt.Sprintf("%s: completed operations (%s): %d; failed and rolled back operations (%s): %d; changes that every subscriber has got (%s): %d.\n",
		begin, age(v.Retention.Completed), p.Completed, age(v.Retention.Failed), p.Failed, age(v.Retention.Completed), p.Changes)
}

// reseal seals all records under the current key.
func (v *VNFM) reseal(ctx context.Context, _ []string) error {
	return v.Audit(ctx, "vnfm admin reseal", func() error {
		left, err := v.Reseal(ctx)
		text := "All records are sealed under the current key: the old keys are not needed any more."
		switch {
		case left > 0:
			text = fmt.Sprintf("%d records of running operations are still sealed under an old key: repeat the command when the operations have ended.", left)
		case err != nil:
			return err
		}
		if _, errOut := fmt.Fprintln(v.Out, text); err == nil {
			err = errOut
		}
		return err
	})
}
