package vnflcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// mute is a driver whose VIM does not answer while it is silent.
type mute struct {
	*cloud
	silent *atomic.Bool
}

func (m mute) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	if m.silent.Load() {
		return vnflcm.Resources{}, errors.New("no answer")
	}
	return m.cloud.Resources(ctx, op)
}

// TestFailWithSilentVIM gives a change up after its first machine, whether the VIM has changed the machine or not, while the VIM does not
// answer: a change to either package includes the machine.
func TestFailWithSilentVIM(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changed bool // before the failure
		to      string
	}{"changed, back": {true, toyVNFD}, "changed, on": {true, newVNFD}, "unchanged, back": {false, toyVNFD}, "unchanged, on": {false, newVNFD}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var silent atomic.Bool
			x := newToys(t, func(cfg *vnflcm.Config) {
				bothVersions(cfg)
				cfg.Infra["toy"] = mute{cfg.Infra["toy"].(*cloud), &silent}
			})
			id := x.instantiated("plain")
			const first = "change_package.1/change/worker-0"
			if x.world.failAt(first, errCut); c.changed {
				x.world.failAt(first, nil)
				x.world.after = func(_ context.Context, at string) error {
					if at == first {
						return errCut
					}
					return nil
				}
			}
			opID, err := x.ChangeVnfPkg(t.Context(), id, toNew(t, "{}"))
			x.wait(opID, err, vnflcm.FailedTemp)
			silent.Store(true)
			must(t, x.Fail(t.Context(), opID))
			silent.Store(false)
			x.world.failAt(first, nil)
			x.world.after = nil
			opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-1"}})
			x.wait(opID, err, vnflcm.Completed)
			if used, err := x.PackageInUse(t.Context(), vnflcm.PackageIdentity{VnfdID: newVNFD, Digest: x.digest(newVNFD)}); err != nil || !used {
				t.Errorf("the second package is used: %t, %v", used, err)
			}
			opID, err = x.ChangeVnfPkg(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: c.to})
			x.wait(opID, err, vnflcm.Completed)
			for _, v := range x.world.state(id).Machines {
				if ranBy(v) != c.to {
					t.Errorf("the machine %s runs by %s", v.ID, ranBy(v))
				}
			}
			other := map[string]string{toyVNFD: newVNFD, newVNFD: toyVNFD}[c.to]
			if used, err := x.PackageInUse(t.Context(), vnflcm.PackageIdentity{VnfdID: other, Digest: x.digest(other)}); err != nil || used {
				t.Errorf("%s is used: %t, %v", other, used, err)
			}
		})
	}
}

// TestParamsOfMixedVNF ends a mixture by a request without parameters: the changed VNFCs run by those of the first request, and so do the
// other ones.
func TestParamsOfMixedVNF(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{newVNFD: `{"replicas":3,"password":"second"}`, toyVNFD: `{"password":"first"}`} {
		x := newToys(t, bothVersions)
		id := x.create()
		opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: paramsOf(t, `{"password": "first"}`)})
		x.wait(opID, err, vnflcm.Completed)
		x.world.failAt("change_package_after.2:cluster/join/worker-1", errCut)
		opID, err = x.ChangeVnfPkg(t.Context(), id, toNew(t, `{"password": "second", "replicas": 3, "max_unavailable": 1}`))
		x.wait(opID, err, vnflcm.FailedTemp)
		must(t, x.Fail(t.Context(), opID))
		x.world.failAt("change_package_after.2:cluster/join/worker-1", nil)
		opID, err = x.ChangeVnfPkg(t.Context(), id, vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: to})
		x.wait(opID, err, vnflcm.Completed)
		var got vnflcm.Params
		x.watch(func(op *vnflcm.Operation) { got = op.Initial.AdditionalParams })
		opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
		x.wait(opID, err, vnflcm.Completed)
		if !got.Equal(paramsOf(t, want)) {
			t.Errorf("after the change to %s: %s", to, got.Reveal())
		}
	}
}

// TestVIMAfterChange merges vimConnectionInfo of the request into that of the instance, and later operations use the result.
func TestVIMAfterChange(t *testing.T) {
	t.Parallel()
	x := newToys(t, bothVersions)
	id := x.create()
	decode := func(text string, into any) { must(t, json.Unmarshal([]byte(text), into)) }
	var made vnflcm.InstantiateVnfRequest
	decode(`{"flavourId": "plain", "vimConnectionInfo": {"own": {"vimType": "toy", "interfaceInfo": {"endpoint": "https://one"}, "accessInfo": {"username": "u", "password": "first"}}}}`, &made)
	opID, err := x.Instantiate(t.Context(), id, made)
	x.wait(opID, err, vnflcm.Completed)
	request := toNew(t, "{}")
	decode(`{"own": {"accessInfo": {"password": "second"}}}`, &request.VimConnectionInfo)
	opID, err = x.ChangeVnfPkg(t.Context(), id, request)
	x.wait(opID, err, vnflcm.Completed)
	var vim vnflcm.VimConnectionInfo
	x.watch(func(op *vnflcm.Operation) { vim = op.VIM })
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	x.wait(opID, err, vnflcm.Completed)
	got := []string{vim.VimType, string(vim.InterfaceInfo.Reveal()), string(vim.AccessInfo.Reveal())}
	if diff := cmp.Diff([]string{"toy", `{"endpoint":"https://one"}`, `{"password":"second","username":"u"}`}, got); diff != "" {
		t.Error(diff)
	}
}
