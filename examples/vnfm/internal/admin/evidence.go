package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// listEvidence prints for which failures of a VNF instance evidence is kept.
func (v *VNFM) listEvidence(ctx context.Context, instanceID string) error {
	list, err := v.ListEvidence(ctx, instanceID)
	if err != nil || len(list) == 0 {
		return err
	}
	rows := [][]string{{"evidence of", "step", "machine", "time"}}
	for _, e := range list {
		rows = append(rows, []string{e.OperationID, e.Step, e.Host, e.Time.UTC().Format(time.RFC3339)})
	}
	if _, err := fmt.Fprintln(v.Out); err != nil {
		return err
	}
	if err := table(v.Out, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintln(v.Out, "vnfm admin evidence OPERATION prints it.")
	return err
}

// evidence prints what is kept of the failures of an operation.
func (v *VNFM) evidence(ctx context.Context, words []string) error {
	return v.Audit(ctx, "vnfm admin evidence "+words[0], func() error {
		list, err := v.Evidence(ctx, words[0])
		if err != nil {
			return err
		}
		if v.Options.JSON {
			return show(v, list, nil, nil)
		}
		if len(list) == 0 {
			_, err := fmt.Fprintf(v.Out, "No evidence of operation %s is kept: no driver has gathered any, or it is older than 30 days.\n", words[0])
			return err
		}
		for _, e := range list {
			if err := v.printEvidence(e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (v *VNFM) printEvidence(e vnflcm.Evidence) error {
	at := e.Step
	if e.Host != "" {
		at += " on " + e.Host
	}
	for _, f := range e.Files {
		_, err := fmt.Fprintf(v.Out, "==> %s at %s: %s <==\n%s\n\n", at, e.Time.UTC().Format(time.RFC3339), f.Name, printableLines(f.Content))
		if err != nil {
			return err
		}
	}
	return nil
}

// printableLines returns a text of a machine, each line without characters that control a terminal.
func printableLines(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = printable(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}
