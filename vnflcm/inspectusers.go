package vnflcm

import (
	"context"
	"fmt"
	"sync"
)

// InspectUsers compares the VNF instances on the VIMs that this instance has become with what exists there, as Manager.Diagnose does. A driver
// calls it after it has set such a VIM back to an earlier state. It changes nothing. VNF instances of other tenants are counted in one finding
// of the kind Unknown. In hookrun there are no findings.
func (op *Operation) InspectUsers(ctx context.Context) ([]Finding, error) {
	if op.instance == nil || op.diagnose == nil {
		return nil, nil
	}
	users, err := op.records.usersOn(ctx, op.instance)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var out []Finding
	err = Each(ctx, mostInspections, users.ids, func(ctx context.Context, id string) error {
		found, err := op.diagnose(ctx, id)
		if err != nil && ctx.Err() == nil {
			found = append(found, Finding{Kind: Unknown, InstanceID: id, Resource: "instance", ID: id, Detail: err.Error()})
			err = nil
		}
		mu.Lock()
		defer mu.Unlock()
		out = append(out, found...)
		return err
	})
	if users.hidden > 0 {
		out = append(out, Finding{Kind: Unknown, Resource: "instance", Detail: fmt.Sprintf("%d VNF instances of other tenants are not compared", users.hidden)})
	}
	return sortFindings(out), err
}
