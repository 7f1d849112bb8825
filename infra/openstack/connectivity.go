package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// ChangeExtConn implements vnflcm.ConnectivityChanger (SOL003 v2.6.1 5.4.11). It changes the networks and addresses of
// external connection points in the parameters of the stack and updates the stack. Heat changes or replaces the ports.
func (d *Driver) ChangeExtConn(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	return vnflcm.Do(ctx, op, "change-connectivity", "", func(ctx context.Context) error {
		s, err := w.atRest(ctx)
		if err != nil {
			return err
		}
		resources, err := w.tree(ctx, s)
		if err != nil {
			return err
		}
		def, err := w.definition(ctx, s, resources.servers())
		if err != nil || s.Status.Complete() && sameParameters(s.Parameters, def.Parameters) {
			return err
		}
		_, err = w.apply(ctx, s, def)
		return err
	})
}

// sameParameters reports whether the parameters of a stack already have the wanted values. Heat does not show hidden ones: they may differ.
func sameParameters(have map[string]string, want map[string]any) bool {
	for name, value := range want {
		text, isText := value.(string)
		if isText && text == have[name] && text != hidden {
			continue
		}
		var a, b any
		data, err := json.Marshal(value)
		if err = errors.Join(err, json.Unmarshal(data, &a), json.Unmarshal([]byte(have[name]), &b)); err != nil || !reflect.DeepEqual(a, b) {
			return false
		}
	}
	return true
}
