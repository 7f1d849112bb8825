package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Package is a VNF package of the VNFM.
type Package struct {
	ID     string `json:"id,omitempty"`   // of an onboarded package
	Name   string `json:"name,omitempty"` // of the file or folder of a package that was not onboarded
	Tenant string `json:"tenant,omitempty"`
	VnfdID string `json:"vnfdId,omitempty"`
	State  string `json:"state"`           // such as "ONBOARDED, ENABLED"
	InUse  int    `json:"inUse"`           // VNF instances
	Fault  string `json:"fault,omitempty"` // why the package cannot be used
}

// instance is a line of the list of VNF instances.
type instance struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	Product   string    `json:"product"`
	Tenant    string    `json:"tenant,omitempty"`
	State     string    `json:"state"`
	Operation string    `json:"operation,omitempty"` // the last one
	OpState   string    `json:"operationState,omitempty"`
	OpID      string    `json:"operationId,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Locked    bool      `json:"locked"` // by its last operation
}

// listPage is how many operations are read at once.
const listPage = 500

func (v *VNFM) instances(ctx context.Context, _ []string) error {
	page, err := v.Instances(ctx, vnflcm.InstanceQuery{})
	if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
		return err
	}
	last, errOps := v.lastOperations(ctx)
	if errOps != nil && !errors.Is(errOps, vnflcm.ErrUnreadable) {
		return errOps
	}
	var list []instance
	for _, i := range page.Items {
		row := instance{ID: i.ID, Name: i.VnfInstanceName, Product: i.VnfProductName, Tenant: i.Tenant, State: string(i.InstantiationState)}
		if op, has := last[i.ID]; has {
			row.Operation, row.OpState, row.OpID, row.Started = string(op.Operation), string(op.OperationState), op.ID, op.StartTime
			row.Locked = !op.OperationState.Final()
		}
		list = append(list, row)
	}
	return errors.Join(show(v, list, []string{"id", "name", "product", "state", "last operation", "state", "locked"}, func(i instance) []string {
		return []string{i.ID, i.Name, i.Product, i.State, i.Operation, i.OpState, yesNo(i.Locked)}
	}), err, errOps)
}

// lastOperations returns the latest operation of each instance; one that locks the instance comes first.
func (v *VNFM) lastOperations(ctx context.Context) (map[string]vnflcm.VnfLcmOpOcc, error) {
	last := map[string]vnflcm.VnfLcmOpOcc{}
	var errs []error
	for q := (vnflcm.OperationQuery{Limit: listPage}); ; {
		page, err := v.Operations(ctx, q)
		if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
			return nil, err
		}
		errs = append(errs, err)
		for _, op := range page.Items {
			known, has := last[op.VnfInstanceID]
			if !has || known.OperationState.Final() && !op.StartTime.Before(known.StartTime) {
				last[op.VnfInstanceID] = vnflcm.VnfLcmOpOcc{ID: op.ID, Operation: op.Operation, OperationState: op.OperationState, StartTime: op.StartTime}
			}
		}
		if q.After = page.Next; q.After == "" {
			return last, errors.Join(errs...)
		}
	}
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func (v *VNFM) packages(ctx context.Context, _ []string) error {
	list, err := v.Packages(ctx)
	return errors.Join(show(v, list, []string{"VNFD", "package", "tenant", "state", "in use", "fault"}, func(p Package) []string {
		return []string{p.VnfdID, cmp.Or(p.ID, p.Name), p.Tenant, p.State, strconv.Itoa(p.InUse), p.Fault}
	}), err)
}

func (v *VNFM) diagnose(ctx context.Context, words []string) error {
	var list []vnflcm.Finding
	var err error
	if v.Options.All {
		list, err = v.DiagnoseAll(ctx)
	} else {
		list, err = v.Diagnose(ctx, words[0])
	}
	if err != nil {
		return err
	}
	if err := v.showFindings(list); err != nil || v.Options.JSON || v.Options.All {
		return err
	}
	return v.listEvidence(ctx, words[0])
}

func (v *VNFM) showFindings(list []vnflcm.Finding) error {
	if len(list) == 0 && !v.Options.JSON {
		_, err := fmt.Fprintln(v.Out, "The records and what exists agree.")
		return err
	}
	// What must be looked at stands before what may pass.
	order := []vnflcm.FindingKind{vnflcm.Missing, vnflcm.Differs, vnflcm.Stray, vnflcm.Unknown, vnflcm.Busy, vnflcm.Kept}
	slices.SortStableFunc(list, func(a, b vnflcm.Finding) int { return slices.Index(order, a.Kind) - slices.Index(order, b.Kind) })
	return show(v, list, []string{"finding", "resource", "name", "id", "VNF instance", "VIM", "detail"}, func(f vnflcm.Finding) []string {
		return []string{string(f.Kind), f.Resource, f.Name, f.ID, f.InstanceID, f.VimID, f.Detail}
	})
}
