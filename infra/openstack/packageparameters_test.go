package openstack_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// newParameterLab has an instance of the sample package with more parameters, and a second version whose last hook fails.
func newParameterLab(t *testing.T, request, parameters, next string) *lab {
	t.Helper()
	const types = "https://forge.etsi.org/rep/nfv/SOL001/raw/v3.3.1/"
	hook := []string{"          instantiate_end:", "          change_current_package_end:\n            implementation: mgmt-drivers-kubernetes\n          instantiate_end:",
		"etsi_nfv_sol001_vnfd_types.yaml", types + "etsi_nfv_sol001_vnfd_types.yaml", "etsi_nfv_sol001_common_types.yaml", types + "etsi_nfv_sol001_common_types.yaml"}
	first := packageWith(t, vnfdID, "parameters:\n  nfv:", "parameters:\n"+parameters+"  nfv:")
	second := packageWith(t, nextVNFD, append(slices.Concat(nextFlavor, hook), "parameters:\n  nfv:", "parameters:\n"+next+"  nfv:")...)
	l := newLabOf(t, openstack.VimTypeV2, vnflcm.PackagesFunc(func(_ context.Context, _, id string) (tosca.Source, error) {
		return tosca.File(map[string]string{vnfdID: first, nextVNFD: second}[id]), nil
	}))
	l.cfg.UserData = map[string]openstack.UserData{"Generated": generated}
	l.Manager = l.start()
	l.must(l.Instantiate(t.Context(), l.id, l.request(request)))
	return l
}

// stackParameter returns the value of a parameter of the stack.
func (l *lab) stackParameter(name string) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stacks[openstack.StackName(l.id)].params[name]
}

// TestParametersOfPackages changes parameters that the driver cannot read, and defaults, to the end of the change and back.
func TestParametersOfPackages(t *testing.T) {
	t.Parallel()
	const declared = "  word: {type: string, hidden: true}\n"
	for name, c := range map[string]struct {
		request, first, next, change string
		parameter                    string
		before, after                any // of the parameter
		restored                     any // if it was not given before
	}{
		"hidden of the request":  {`{"word": "old"}`, declared, declared, `{"word": "new"}`, "word", "old", "new", nil},
		"hidden that stays":      {`{"word": "old"}`, declared, declared, `{}`, "word", "old", "old", nil},
		"hidden with a default":  {`{}`, "  word: {type: string, hidden: true, default: old}\n", declared, `{"word": "new"}`, "word", nil, "new", "old"},
		"default":                {`{}`, "  size: {type: string, default: a}\n", "  size: {type: string, default: b}\n", `{}`, "size", nil, "b", "a"},
		"default that was given": {`{"size": "c"}`, "  size: {type: string, default: a}\n", "  size: {type: string, default: b}\n", `{}`, "size", "c", "c", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newParameterLab(t, c.request, c.first, c.next)
			if got := l.stackParameter(c.parameter); got != c.before {
				t.Fatalf("before %v", got)
			}
			l.mgmt.failing = errors.New("the hook fails")
			opID, err := l.changePackage(nextVNFD, c.change)
			l.ends(opID, err, vnflcm.FailedTemp)
			if got := l.stackParameter(c.parameter); got != c.after {
				t.Errorf("after the change %v", got)
			}
			if err := l.Rollback(t.Context(), opID); err != nil {
				t.Fatal(err)
			}
			if occ, err := l.Wait(t.Context(), opID); occ.OperationState != vnflcm.RolledBack {
				t.Fatalf("operation %+v: %v", occ, err)
			}
			if got := l.stackParameter(c.parameter); got != c.before && (c.before != nil || got != c.restored) {
				t.Errorf("rolled back %v", got)
			}
			l.mgmt.failing = nil
			l.must(l.changePackage(nextVNFD, c.change))
			if got := l.stackParameter(c.parameter); got != c.after {
				t.Errorf("changed %v", got)
			}
		})
	}
}

// TestUnknownHiddenParameter refuses to overwrite a value that could not be restored.
func TestUnknownHiddenParameter(t *testing.T) {
	t.Parallel()
	const declared = "  word: {type: string, hidden: true}\n"
	l := newParameterLab(t, `{"lcm-operation-user-data": "x.py", "lcm-operation-user-data-class": "Generated"}`, declared, declared)
	_, err := l.changePackage(nextVNFD, `{}`)
	if err == nil || !strings.Contains(err.Error(), "additionalParams.word") || !strings.Contains(err.Error(), "cannot be read and restored") {
		t.Errorf("error %v", err)
	}
}

// generated is user data that makes a secret.
func generated(ctx context.Context, req openstack.UserDataRequest) (openstack.Definition, error) {
	given, err := vnflcm.ParseParams([]byte(`{"word": "generated"}`))
	if err != nil {
		return openstack.Definition{}, err
	}
	op := *req.Op
	if op.Params, err = op.Params.Merge(given); err != nil {
		return openstack.Definition{}, err
	}
	req.Op = &op
	return openstack.DefaultUserData(ctx, req)
}
