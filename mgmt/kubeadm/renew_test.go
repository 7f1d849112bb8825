package kubeadm_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// renewing is a lab with a cluster whose token is valid for ten minutes.
type renewing struct {
	*lab
	clock  clustertest.Clock // of the API server
	id     string
	first  clustertest.Entry
	issued atomic.Int32 // tokens that were requested since
}

// late sets the clock of the API server back so far that the token must be renewed at once.
const late = -6 * time.Minute

func newRenewing(t *testing.T, flavour string) *renewing {
	t.Helper()
	r := &renewing{}
	r.clock.Set(late)
	r.lab = openLab(t, setup{sandbox: sandbox.Config{Now: r.clock.Now}, pkg: helmPackage(t, helmInstaller)})
	r.Manager = r.Process(r.keepsKeys)
	r.id = r.Instantiated("instantiate_sandbox.json", clustertest.Sized(flavour, 0), with(t, helmParams),
		with(t, `{"master_node":{"cluster_cp_name":"vip_CP"},"vim_registration":{"cluster_role":"view","token":"request","token_expiration":600}}`))
	if err := r.Close(t.Context()); err != nil { // another process renews
		t.Fatal(err)
	}
	r.first, _ = r.Entry(kubeadm.VIMID(r.id))
	r.World.OnRequest(func(_, method, path string) {
		if method == http.MethodPost && strings.HasSuffix(path, "/serviceaccounts/vnfkit-vim/token") {
			r.issued.Add(1)
		}
	})
	return r
}

// next returns a Manager of another process, which looks at once for credentials to renew.
func (r *renewing) next(change ...func(*vnflcm.Config)) *vnflcm.Manager {
	r.t.Helper()
	return r.Process(append(change, r.keepsKeys)...)
}

// keepsKeys makes a process record the host keys of machines at the first login, as with a VIM that does not report host
// keys.
func (r *renewing) keepsKeys(c *vnflcm.Config) {
	c.Infra = map[string]vnflcm.InfraDriver{"sandbox": quiet{r.World}}
}

type quiet struct{ *sandbox.World }

func (q quiet) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	now, err := q.World.Resources(ctx, op)
	for i := range now.VNFCs {
		now.VNFCs[i].HostKey = ""
	}
	return now, err
}

// inHurry makes a process look for credentials to renew every two seconds, also after an attempt that has failed.
func inHurry(c *vnflcm.Config) { c.LeaseTTL = 2 * time.Second }

// another waits until the entry has a token other than the first.
func (r *renewing) another() clustertest.Entry {
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		entry, _ := r.Entry(kubeadm.VIMID(r.id))
		if !entry.Token.Equal(r.first.Token) {
			return entry
		}
		if time.Now().After(end) {
			r.t.Errorf("the token is not renewed:\n%s", r.Log())
			return entry
		}
	}
}

// renewed waits for a new token, and checks that it is valid for the same role.
func (r *renewing) renewed() clustertest.Entry {
	r.t.Helper()
	r.another()
	entry, extra := r.Entry(kubeadm.VIMID(r.id))
	if entry.AuthURL != r.first.AuthURL || entry.CA != r.first.CA || extra["vim_name"] == nil || extra["helm_info"] == nil {
		r.t.Errorf("the entry is %+v %v", entry, extra)
	}
	text, _ := extra["bearer_token_expires"].(string)
	if ends, err := time.Parse(time.RFC3339, text); err != nil || r.clock.Now().Add(9*time.Minute).After(ends) {
		r.t.Errorf("it ends at %q: %v", text, err)
	}
	r.allows(entry, http.StatusOK)
	if code, _, err := r.Ask(entry, http.MethodDelete, secretPath, ""); code != http.StatusForbidden {
		r.t.Errorf("to delete: %d, %v", code, err)
	}
	return entry
}

func (r *renewing) allows(e clustertest.Entry, want int) {
	r.t.Helper()
	if code, _, err := r.Ask(e, http.MethodGet, nodesPath, ""); code != want {
		r.t.Errorf("%d, want %d: %v", code, want, err)
	}
}

// TestTokenRenewal checks that one of two processes renews the token of an entry through a control-plane node, also after
// the old token has expired and if the first control-plane node is dead. No log, document or record shows a token.
func TestTokenRenewal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flavour string
		off     time.Duration // offset of the API server's clock when the next processes run
		dead    string
		old     int // status code for the old token at that time
	}{
		"half of its life is over": {"simple", 0, "", http.StatusOK},
		"it has ended":             {"simple", time.Hour, "", http.StatusUnauthorized},
		"the first node is dead":   {"complex", 0, "masterNode-0", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRenewing(t, c.flavour)
			r.clock.Set(c.off)
			if c.dead != "" {
				r.stop(c.dead)
			}
			r.allows(r.first, c.old)
			r.next()
			r.next()
			entry := r.renewed()
			time.Sleep(time.Second) // in which the other process would request a token
			if now, _ := r.Entry(kubeadm.VIMID(r.id)); r.issued.Load() != 1 || !now.Token.Equal(entry.Token) {
				t.Errorf("%d tokens were issued", r.issued.Load())
			}
			r.shownNowhere()
		})
	}
}

// shownNowhere checks that neither the log nor a document nor a record shows a token.
func (r *renewing) shownNowhere() {
	r.t.Helper()
	inst, err := r.Get(r.t.Context(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	document, err := json.Marshal(inst)
	if err != nil {
		r.t.Fatal(err)
	}
	for what, text := range map[string]string{"log": r.Log(), "document": string(document), "store": r.Stored()} {
		if strings.Contains(text, "issued-") {
			r.t.Errorf("the %s has a token:\n%s", what, text)
		}
	}
}

// TestTokenRenewalBesideHeal: another process renews the token while the first control-plane node is being replaced. It
// does not log in to the new machine, because the heal must record its host key first. The heal registers the cluster
// again.
func TestTokenRenewalBesideHeal(t *testing.T) {
	t.Parallel()
	r := newRenewing(t, "complex")
	r.clock.Set(0)
	first := r.World.Nodes()[0].Address.String() + ":" // the new machine has the same address
	var meanwhile vnflcm.Secret
	pool := sshexec.NewPool(sshexec.Options{Dial: r.World.Dial})
	t.Cleanup(func() { _ = pool.Close() })
	m := r.next(func(c *vnflcm.Config) {
		driver := kubeadm.New(kubeadm.Config{Pool: pool})
		c.Mgmt = map[string]vnflcm.MgmtDriver{driverName: healer{driver, driver}}
		c.Intercept = func(ctx context.Context, step vnflcm.StepInfo, do func(context.Context) error) error {
			if step.Name == "reach" {
				var tried sync.Map
				r.ProcessOver(func(ctx context.Context, network, addr string) (net.Conn, error) { //nolint:contextcheck // the other process has a separate context
					if strings.HasPrefix(addr, first) {
						t.Error("the renewal logs in to the new machine")
					}
					if _, again := tried.LoadOrStore(addr, true); !again { // fail the first connection to each address, so that all nodes are tried
						return nil, errors.New("no route")
					}
					return r.World.Dial(ctx, network, addr)
				}, r.keepsKeys, inHurry)
				meanwhile = r.another().Token
			}
			return do(ctx)
		}
	})
	i := slices.IndexFunc(r.VNFCs(r.id), func(v vnflcm.VnfcResourceInfo) bool { return r.NameOf(v.ID) == "masterNode-0" })
	opID, err := m.Heal(t.Context(), r.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{r.VNFCs(r.id)[i].ID}})
	r.Must(opID, err, m)
	r.want(3, 1, 0)
	if entry := r.renewed(); meanwhile.IsZero() || entry.Token.Equal(meanwhile) || r.issued.Load() != 2 {
		t.Errorf("%d tokens were issued; the heal has registered none, or that of the renewal", r.issued.Load())
	}
	r.shownNowhere()
}

// healer is a driver without RenewVIM.
type healer struct {
	vnflcm.MgmtDriver
	vnflcm.SecretParams
}

// TestTokenIsNotRenewed: if no control-plane node answers, a warning names the VIM and the instance.
func TestTokenIsNotRenewed(t *testing.T) {
	t.Parallel()
	r := newRenewing(t, "simple")
	r.clock.Set(0)
	r.stop("masterNode-0")
	r.next()
	want := "the credentials of the VIM cannot be renewed now"
	for end := time.Now().Add(3 * time.Minute); !strings.Contains(r.Log(), want) && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	for _, text := range []string{want, `"vim":"` + kubeadm.VIMID(r.id) + `"`, `"instance":"` + r.id + `"`} {
		if !strings.Contains(r.Log(), text) {
			t.Errorf("the log has no %s", text)
		}
	}
}
