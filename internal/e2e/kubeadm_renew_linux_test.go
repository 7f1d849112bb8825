package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// expiring has the token of a new cluster's VIM entry be one that is to be renewed at once.
type expiring struct {
	*kubeadm.Driver
	yard  *yard
	first string // the token
}

// Hooks implements vnflcm.MgmtDriver.
func (e *expiring) Hooks() vnflcm.Hooks {
	hooks := e.Driver.Hooks()
	build := hooks[vnflcm.InstantiateEnd]
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
		if err := build(ctx, op); err != nil {
			return err
		}
		vim, err := e.yard.VIMs().Get(ctx, "", kubeadm.VIMID(op.InstanceID))
		if err != nil {
			return err
		}
		e.first = bearerToken(e.yard.t, vim)
		return op.RegisterVIMUntil(ctx, vim, vnflcm.Validity{Until: time.Now().Add(time.Minute), For: 10 * time.Minute})
	}
	return hooks
}

func bearerToken(t testing.TB, vim vnflcm.VimConnectionInfo) string {
	t.Helper()
	var access struct {
		Token vnflcm.Secret `json:"bearer_token"`
	}
	if _, err := vim.AccessInfo.Decode(&access); err != nil {
		t.Error(err)
	}
	return access.Token.Reveal()
}

// wantRenewed waits until the Manager has replaced the token, and uses the new one. It ends in ten minutes.
func (e *expiring) wantRenewed(id string) {
	y := e.yard
	y.t.Helper()
	var vim vnflcm.VimConnectionInfo
	begin := time.Now()
	for token := e.first; token == e.first; token = bearerToken(y.t, vim) {
		var err error
		if vim, err = y.VIMs().Get(within(y.t, time.Minute), "", kubeadm.VIMID(id)); err != nil || time.Since(begin) > 5*time.Minute {
			y.t.Fatalf("the token is not renewed: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	y.t.Logf("the token was renewed %s after the operation", time.Since(begin).Round(100*time.Millisecond))
	var extra struct {
		Expires time.Time `json:"bearer_token_expires"`
	}
	_, err := vim.Extra.Decode(&extra)
	if left := time.Until(extra.Expires); err != nil || left < 4*time.Minute || left > 11*time.Minute {
		y.t.Errorf("it ends at %v: %v", extra.Expires, err)
	}
	if code, err := y.viaVIM(id, "/api/v1/namespaces/kube-system/secrets"); code != http.StatusOK || err != nil {
		y.t.Errorf("through the renewed entry: %d, %v", code, err)
	}
	inst, err := y.Get(y.t.Context(), id)
	if err == nil && len(inst.VimConnectionInfo) == 0 {
		err = errors.New("it has no VIM connections")
	}
	if err != nil || bearerToken(y.t, inst.VimConnectionInfo[len(inst.VimConnectionInfo)-1]) != bearerToken(y.t, vim) {
		y.t.Errorf("the instance has another token than the registry: %v", err)
	}
}
