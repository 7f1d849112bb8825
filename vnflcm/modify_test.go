package vnflcm_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

func pointer[T any](v T) *T { return &v }

func (x *toys) modify(id string, req vnflcm.VnfInfoModificationRequest) *vnflcm.VnfLcmOpOcc {
	x.t.Helper()
	opID, err := x.Modify(x.t.Context(), id, req, "")
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	return occ
}

// TestModifyBeforeInstantiate changes attributes of an instance without resources whose package has been removed.
func TestModifyBeforeInstantiate(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	x.cfg.Packages = toyPackages(nil)
	x.start()
	x.modify(id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: pointer("renamed"), VnfInstanceDescription: pointer("new"),
		Metadata: vnflcm.KeyValuePairs{"a": "b", "c": map[string]any{"d": "e", "f": "g"}}})
	occ := x.modify(id, vnflcm.VnfInfoModificationRequest{Metadata: vnflcm.KeyValuePairs{"a": nil, "c": map[string]any{"f": nil}}})
	inst := x.get(id)
	if inst.VnfInstanceName != "renamed" || inst.VnfInstanceDescription != "new" || inst.InstantiationState != vnflcm.NotInstantiated {
		t.Errorf("the instance is %+v", inst)
	}
	if diff := cmp.Diff(vnflcm.KeyValuePairs{"c": map[string]any{"d": "e"}}, inst.Metadata); diff != "" {
		t.Errorf("metadata:\n%s", diff)
	}
	if occ.Operation != vnflcm.OpModifyInfo || occ.ChangedInfo == nil || occ.GrantID != "" {
		t.Errorf("the operation is %+v", occ)
	}
}

// TestModifyCredentials replaces expired credentials. Later operations and their hooks must get the new credentials.
func TestModifyCredentials(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain",
		VimConnectionInfo: vnflcm.VimConnections{{ID: "v", VimType: "toy", AccessInfo: params(t, `{"user":"u","password":"canary-old"}`)}},
		Extensions:        params(t, `{"a":1,"b":2}`)})
	x.wait(opID, err, vnflcm.Completed)
	var seen []string
	x.watch(func(op *vnflcm.Operation) { seen = append(seen, op.Phase()+" "+string(op.VIM.AccessInfo.Reveal())) })
	x.modify(id, vnflcm.VnfInfoModificationRequest{Extensions: params(t, `{"b":null,"c":3}`),
		VnfConfigurableProperties: params(t, `{"isAutoscaleEnabled":false}`),
		VimConnectionInfo:         vnflcm.VimConnections{{ID: "v", AccessInfo: params(t, `{"password":"canary-new"}`)}}})
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	x.wait(opID, err, vnflcm.Completed)
	for _, line := range seen {
		if line != `modify_information_end {"password":"canary-new","user":"u"}` && line != `heal_start {"password":"canary-new","user":"u"}` &&
			line != `heal_end {"password":"canary-new","user":"u"}` {
			t.Errorf("a hook saw %s", line)
		}
	}
	if len(seen) < 2 {
		t.Errorf("hooks saw %q", seen)
	}
	inst := x.get(id)
	if got := string(inst.Extensions.Reveal()); got != `{"a":1,"c":3}` || string(inst.VnfConfigurableProperties.Reveal()) != `{"isAutoscaleEnabled":false}` {
		t.Errorf("extensions %s, vnfConfigurableProperties %s", got, inst.VnfConfigurableProperties.Reveal())
	}
	x.modify(id, vnflcm.VnfInfoModificationRequest{VimConnectionInfo: vnflcm.VimConnections{{ID: "w", VimType: "other"}}})
	x.modify(id, vnflcm.VnfInfoModificationRequest{VimConnectionInfoDeleteList: []string{"w"}})
	if vims := x.get(id).VimConnectionInfo; len(vims) != 1 || vims[0].ID != "v" {
		t.Errorf("connections: %+v", vims)
	}
}

func TestModifyRefusals(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	version := x.get(id).Version
	opID, err := x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: pointer("one")}, version)
	x.wait(opID, err, vnflcm.Completed)
	_, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: pointer("two")}, version)
	if wantIs(t, err, vnflcm.ErrPrecondition); vnflcm.Problem(err).Status != 412 {
		t.Errorf("status %d", vnflcm.Problem(err).Status)
	}
	before := x.records()
	_, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfdID: "other", Extensions: params(t, `{"a":{"b":"***"}}`),
		Metadata: vnflcm.KeyValuePairs{"c": "***"}}, "")
	wantFaults(t, err, "extensions.a.b", "metadata.c")
	_, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfdID: "other",
		VimConnectionInfo:           vnflcm.VimConnections{{VimID: "vim1", VimType: "other"}, {ID: "new"}},
		VimConnectionInfoDeleteList: []string{"vim1", "none"}}, "")
	wantFaults(t, err, "vnfdId", "vimConnectionInfo[0].vimType", "vimConnectionInfo[1].vimType", "vimConnectionInfoDeleteList[0]", "vimConnectionInfoDeleteList[1]")
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Errorf("a refused request wrote:\n%s", diff)
	}
	_, err = x.Modify(t.Context(), "none", vnflcm.VnfInfoModificationRequest{}, "")
	wantIs(t, err, vnflcm.ErrNotFound)
	x.world.failAt("modify_information_end/configure/", errCut)
	opID, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: pointer("three")}, "")
	_, _ = x.wait(opID, err, vnflcm.FailedTemp)
	_, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{}, "")
	wantIs(t, err, vnflcm.ErrConflict)
	wantIs(t, x.Rollback(t.Context(), opID), vnflcm.ErrNotSupported)
	must(t, x.Fail(t.Context(), opID))
	if inst := x.get(id); inst.InstantiationState != vnflcm.Instantiated || len(inst.InstantiatedVnfInfo.VnfcResourceInfo) == 0 {
		t.Errorf("after a failed modification: %+v", inst)
	}
}

// TestDeleteAtVersion deletes instances at the version that was read and at other versions, also while they change.
func TestDeleteAtVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ifMatch func(read string) string
		change  bool // after the Manager has compared
		want    error
	}{
		"present version":                {ifMatch: func(read string) string { return read }},
		"any version":                    {ifMatch: func(string) string { return "" }},
		"another version":                {ifMatch: func(read string) string { return read + "0" }, want: vnflcm.ErrPrecondition},
		"present version, then a change": {ifMatch: func(read string) string { return read }, change: true, want: vnflcm.ErrConflict},
		"any version, then a change":     {ifMatch: func(string) string { return "" }, change: true, want: vnflcm.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			id, y := x.create(), x.other(nil)
			version := c.ifMatch(x.get(id).Version)
			store := newStoppable(x.cfg.Store, func(b store.Batch) bool { return len(b.Delete) > 0 && c.change })
			x.cfg.Store = store
			x.start()
			deleted := make(chan error, 1)
			go func() { deleted <- x.Delete(t.Context(), id, version) }()
			if c.change {
				<-store.stopped
				opID, err := y.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: pointer("changed")}, "")
				y.wait(opID, err, vnflcm.Completed)
			}
			close(store.gate)
			err := <-deleted
			_, left := y.Get(t.Context(), id)
			if c.want == nil {
				must(t, err)
				wantIs(t, left, vnflcm.ErrNotFound)
				return
			}
			wantIs(t, err, c.want)
			must(t, left)
		})
	}
}

// wantFaults checks which attributes an error names.
func wantFaults(t *testing.T, err error, paths ...string) {
	t.Helper()
	var got []string
	var walk func(error)
	walk = func(err error) {
		if fault, ok := err.(*vnflcm.ParamError); ok { //nolint:errorlint // walks the tree itself
			got = append(got, fault.Path)
		}
		switch e := err.(type) { //nolint:errorlint // walks the tree itself
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		case interface{ Unwrap() []error }:
			for _, each := range e.Unwrap() {
				walk(each)
			}
		}
	}
	walk(err)
	if diff := cmp.Diff(paths, got); diff != "" || !errors.Is(err, vnflcm.ErrInvalidRequest) {
		t.Errorf("faults of %v:\n%s", err, diff)
	}
}

// TestConfigurableProperties checks that the configurable properties of an instantiate request are stored with the instance, and that a
// later request changes them.
func TestConfigurableProperties(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", VnfConfigurableProperties: params(t, `{"isAutoscaleEnabled":true,"log":"debug"}`)})
	x.wait(opID, err, vnflcm.Completed)
	x.modify(id, vnflcm.VnfInfoModificationRequest{VnfConfigurableProperties: params(t, `{"log":"error"}`)})
	inst, err := x.Get(t.Context(), id)
	must(t, err)
	if got := string(inst.VnfConfigurableProperties.Reveal()); got != `{"isAutoscaleEnabled":true,"log":"error"}` {
		t.Errorf("properties %s", got)
	}
}
