package vnflcm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

const (
	renewTTL = time.Second // also the interval in which Managers search for due renewals
	madeVIM  = "made"
)

// issuer is a MgmtDriver whose instances are VIMs with a token that expires.
type issuer struct {
	mu     sync.Mutex
	issued int
	lives  []vnflcm.Validity // validities of the tokens, by number; later tokens expire after an hour
	failed []error           // errors of the first calls of RenewVIM
	seen   []renewed
	during func(op *vnflcm.Operation) // called in RenewVIM
	hang   chan struct{}              // RenewVIM waits until this channel is closed
	inHook func(ctx context.Context, op *vnflcm.Operation) error
}

// renewed are the arguments of a call of RenewVIM.
type renewed struct {
	Instance, Token, Params string
	VNFCs                   int
	Was                     vnflcm.Validity
}

func (d *issuer) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (d *issuer) Hooks() vnflcm.Hooks {
	return vnflcm.Hooks{
		vnflcm.InstantiateEnd: d.register, vnflcm.HealEnd: d.register, vnflcm.ScaleStart: vnflcm.Noop, vnflcm.ScaleEnd: d.hook, vnflcm.HealStart: vnflcm.Noop,
		vnflcm.TerminateStart:           func(ctx context.Context, op *vnflcm.Operation) error { return op.RemoveVIM(ctx, madeVIM) },
		vnflcm.InstantiateRollbackStart: vnflcm.Noop, vnflcm.ScaleRollbackStart: vnflcm.Noop, vnflcm.ModifyEnd: vnflcm.Noop,
	}
}

func (d *issuer) register(ctx context.Context, op *vnflcm.Operation) error {
	if op.VIM.VimID == madeVIM {
		return nil // it is on a VIM of this kind
	}
	token, life := d.issue()
	access, err := vnflcm.NewParams(map[string]string{"bearer_token": token, "auth_url": "https://k"})
	if err != nil {
		return err
	}
	return op.RegisterVIMUntil(ctx, vnflcm.VimConnectionInfo{ID: madeVIM, VimID: madeVIM, VimType: "toy", AccessInfo: access}, life)
}

func (d *issuer) hook(ctx context.Context, op *vnflcm.Operation) error {
	if d.inHook == nil {
		return nil
	}
	return d.inHook(ctx, op)
}

// issue returns the next token.
func (d *issuer) issue() (string, vnflcm.Validity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.issued++
	life := vnflcm.Validity{Until: time.Now().Add(time.Hour).Round(0), For: time.Hour}
	if n := d.issued - 1; n < len(d.lives) {
		life = d.lives[n]
	}
	return fmt.Sprintf("hunter2-%d", d.issued), life
}

func (d *issuer) RenewVIM(ctx context.Context, op *vnflcm.Operation, vim vnflcm.VimConnectionInfo, was vnflcm.Validity) (vnflcm.VimConnectionInfo, vnflcm.Validity, error) {
	d.mu.Lock()
	d.seen = append(d.seen, renewed{op.InstanceID, tokenOf(vim), string(op.Params.Reveal()), len(op.VNFCs), was})
	var failed error
	if len(d.failed) > 0 {
		failed, d.failed = d.failed[0], d.failed[1:]
	}
	during, hang := d.during, d.hang
	d.mu.Unlock()
	op.Log.InfoContext(ctx, "the old token is "+tokenOf(vim))
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return vim, was, context.Cause(ctx)
		}
	}
	if during != nil {
		during(op)
	}
	if failed != nil {
		return vim, was, failed
	}
	token, life := d.issue()
	access, err := vnflcm.NewParams(map[string]string{"bearer_token": token})
	if err == nil {
		vim.AccessInfo, err = vim.AccessInfo.Merge(access)
	}
	return vim, life, err
}

func (d *issuer) renewals() []renewed {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]renewed(nil), d.seen...)
}

func tokenOf(vim vnflcm.VimConnectionInfo) string {
	var access struct {
		Token string `json:"bearer_token"`
	}
	_, _ = vim.AccessInfo.Decode(&access)
	return access.Token
}

// ended returns the validity of a token that has expired and whose renewal is overdue.
func ended() vnflcm.Validity {
	return vnflcm.Validity{Until: time.Now().Add(-time.Hour).Round(0), For: 10 * time.Minute}
}

// guardedVIMs is a registry outside of the Store.
type guardedVIMs struct {
	mu  sync.Mutex
	own fixedVIMs
}

func (g *guardedVIMs) Get(ctx context.Context, tenant, id string) (vnflcm.VimConnectionInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own.Get(ctx, tenant, id)
}

func (g *guardedVIMs) List(ctx context.Context) ([]vnflcm.VimConnectionInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own.List(ctx)
}

func (g *guardedVIMs) Put(ctx context.Context, v vnflcm.VimConnectionInfo) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own.Put(ctx, v)
}

func (g *guardedVIMs) SetShare(ctx context.Context, tenant, id string, share vnflcm.Share) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own.SetShare(ctx, tenant, id, share)
}

func (g *guardedVIMs) Remove(ctx context.Context, tenant, id string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.own.Remove(ctx, tenant, id)
}

func (g *guardedVIMs) SetDefault(context.Context, string, string) error { return nil }

func (g *guardedVIMs) Default(ctx context.Context, tenant, _ string) (vnflcm.VimConnectionInfo, error) {
	return g.Get(ctx, tenant, "vim1")
}

// vims is a Manager with a driver whose instances are VIMs.
type vims struct {
	*toys
	driver *issuer
	log    *safeBuffer
}

type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// eachRegistry runs a test with synctest, once with the registry in the Store and once with another registry.
func eachRegistry(t *testing.T, test func(t *testing.T, own vnflcm.VIMs)) {
	t.Helper()
	t.Run("registry in the store", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T) { test(t, nil) })
	})
	t.Run("own registry", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(t *testing.T) { test(t, &guardedVIMs{own: fixedVIMs{}}) })
	})
}

func newVIMs(t *testing.T, own vnflcm.VIMs, lives ...vnflcm.Validity) *vims {
	t.Helper()
	v := &vims{driver: &issuer{lives: lives}, log: &safeBuffer{}}
	v.toys = newToys(t, func(c *vnflcm.Config) {
		c.LeaseTTL, c.VIMs, c.Logger = renewTTL, own, slog.New(slog.NewTextHandler(v.log, nil))
		c.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": v.driver}
	})
	t.Cleanup(func() {
		if strings.Contains(v.log.String(), "hunter2") {
			t.Errorf("the log has a secret:\n%s", v.log)
		}
	})
	return v
}

func (v *vims) entry() vnflcm.VimConnectionInfo {
	v.t.Helper()
	vim, err := v.VIMs().Get(v.t.Context(), "", madeVIM)
	must(v.t, err)
	return vim
}

// await waits until so returns true.
func await(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout while waiting for %s", what)
		}
	}
}

func (v *vims) awaitToken(n int) {
	v.t.Helper()
	want := fmt.Sprintf("hunter2-%d", n)
	await(v.t, want, func() bool { return tokenOf(v.entry()) == want })
}

// count returns the number of records of a kind.
func (v *vims) count(kind string) int {
	v.t.Helper()
	list, err := v.cfg.Store.List(v.t.Context(), store.Query{Kind: kind})
	must(v.t, err)
	return len(list)
}

// ofInstance returns the VIM in the document of an instance.
func (v *vims) ofInstance(id string) (found []string) {
	for _, vim := range v.get(id).VimConnectionInfo {
		if vim.VimID == madeVIM {
			found = append(found, tokenOf(vim))
		}
	}
	return found
}

// TestRenewal checks that a token is renewed once, after half of its validity, in the registry and in the instance.
func TestRenewal(t *testing.T) {
	t.Parallel()
	eachRegistry(t, func(t *testing.T, own vnflcm.VIMs) {
		life := vnflcm.Validity{Until: time.Now().Add(4 * time.Minute).Round(0), For: 4 * time.Minute}
		due := time.Now().Add(life.For / 2)
		v := newVIMs(t, own, life)
		id := v.create()
		opID, err := v.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"hunter2"}`)})
		v.wait(opID, err, vnflcm.Completed)
		from, err := v.LatestChange(t.Context())
		must(t, err)
		time.Sleep(time.Until(due) - 1)
		if got := tokenOf(v.entry()); got != "hunter2-1" {
			t.Fatalf("the entry has %q too soon", got)
		}
		time.Sleep(1 + renewTTL)
		synctest.Wait()
		if diff := cmp.Diff([]string{"hunter2-2"}, v.ofInstance(id)); diff != "" || tokenOf(v.entry()) != "hunter2-2" {
			t.Errorf("the entry has %q, the instance:\n%s", tokenOf(v.entry()), diff)
		}
		want := []renewed{{id, "hunter2-1", `{"password":"hunter2"}`, 3, life}}
		if diff := cmp.Diff(want, v.driver.renewals()); diff != "" {
			t.Errorf("RenewVIM was given:\n%s", diff)
		}
		list, _, err := v.Changes(t.Context(), from, 10)
		if err != nil || len(list) != 1 || list[0].Kind != vnflcm.InstanceChanged || list[0].VNF.InstanceID != id {
			t.Errorf("the feed has %+v, %v", list, err)
		}
		time.Sleep(3 * renewTTL)
		if n := len(v.driver.renewals()); n != 1 || v.count("lease") != 0 {
			t.Errorf("%d renewals, %d leases", n, v.count("lease"))
		}
		opID, err = v.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		v.wait(opID, err, vnflcm.Completed)
		if n := v.count("renewal"); n != 0 {
			t.Errorf("%d records are left", n)
		}
	})
}

// TestRenewalAfterOutage checks that expired tokens are renewed when Managers run again, by only one of two Managers. A Manager with
// AcceptOnly does not renew tokens.
func TestRenewalAfterOutage(t *testing.T) {
	t.Parallel()
	eachRegistry(t, func(t *testing.T, own vnflcm.VIMs) {
		v := newVIMs(t, own, ended())
		v.driver.failed = []error{errCut}
		v.other(func(c *vnflcm.Config) { c.AcceptOnly = true })
		v.instantiated("plain")
		await(t, "the first attempt", func() bool { return len(v.driver.renewals()) == 1 })
		closeManager(t, v.Manager)
		time.Sleep(3 * renewTTL)
		if n := len(v.driver.renewals()); n > 1 {
			t.Fatalf("%d attempts without a Manager that works", n)
		}
		for range 2 {
			v.other(nil)
		}
		v.awaitToken(2)
		time.Sleep(3 * renewTTL)
		if n := len(v.driver.renewals()); n != 2 {
			t.Errorf("%d attempts, want 2", n)
		}
	})
}

// afterOutage returns a Manager that starts after the token of the VIM has expired, and that renews only for operations that use the VIM.
func afterOutage(t *testing.T, change func(v *vims, c *vnflcm.Config)) (v *vims, y *toys) {
	t.Helper()
	v = newVIMs(t, nil, ended())
	v.driver.failed = []error{errCut}
	v.instantiated("plain")
	await(t, "the first attempt", func() bool { return len(v.driver.renewals()) == 1 })
	closeManager(t, v.Manager)
	return v, v.other(func(c *vnflcm.Config) {
		c.LeaseTTL = time.Hour
		change(v, c)
	})
}

// onMadeVIM requests a VNF on the VIM whose token has expired. The request must not wait: with synctest, time passes only if it waits.
func (x *toys) onMadeVIM() string {
	x.t.Helper()
	ctx, done := context.WithTimeout(x.t.Context(), time.Millisecond)
	defer done()
	opID, err := x.Instantiate(ctx, x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{{VimID: madeVIM}}})
	must(x.t, err)
	return opID
}

// TestRenewalComesBeforeUse checks that the first operation after an outage uses the new token.
func TestRenewalComesBeforeUse(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var planned, used []string
		_, y := afterOutage(t, func(v *vims, c *vnflcm.Config) {
			c.Infra = map[string]vnflcm.InfraDriver{"toy": &noting{cloud{world: v.world},
				func(op *vnflcm.Operation) { planned = append(planned, tokenOf(op.VIM)) },
				func(op *vnflcm.Operation) { used = append(used, tokenOf(op.VIM)) }}}
		})
		y.wait(y.onMadeVIM(), nil, vnflcm.Completed)
		if diff := cmp.Diff([]string{"hunter2-2"}, used); diff != "" || len(planned) != 1 {
			t.Errorf("planned with %q, tokens:\n%s", planned, diff)
		}
	})
}

// TestRequestWaitsForNoRenewal accepts a request while the driver that renews the VIM does not answer. The operation waits for the
// driver in a step, which can be cancelled.
func TestRequestWaitsForNoRenewal(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then func(t *testing.T, y *toys, opID string, answer func())
		want vnflcm.OperationState
	}{
		"the driver answers": {func(_ *testing.T, _ *toys, _ string, answer func()) { answer() }, vnflcm.Completed},
		"cancelled": {func(t *testing.T, y *toys, opID string, _ func()) {
			must(t, y.Cancel(t.Context(), opID, vnflcm.CancelForceful))
		}, vnflcm.FailedTemp},
		"the driver never answers": {func(*testing.T, *toys, string, func()) {}, vnflcm.Completed}, // the operation continues with the old token
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				begun := make(chan struct{})
				v, y := afterOutage(t, func(v *vims, c *vnflcm.Config) {
					v.driver.hang = make(chan struct{})
					c.Observe = func(e vnflcm.Event) {
						if e.Kind == vnflcm.StepStarted && e.Name == "renew-vim" {
							close(begun)
						}
					}
				})
				opID := y.onMadeVIM() // must return although the driver does not answer
				<-begun
				await(t, "the second attempt", func() bool { return len(v.driver.renewals()) == 2 })
				c.then(t, y, opID, func() { close(v.driver.hang) })
				occ, _ := y.Wait(t.Context(), opID)
				if occ == nil || occ.OperationState != c.want {
					t.Errorf("the operation is %+v, want %s", occ, c.want)
				}
				history, err := y.History(t.Context(), opID)
				must(t, err)
				if i := slices.IndexFunc(history, func(p vnflcm.Performed) bool { return p.Step == "renew-vim" }); i < 0 || history[i].Phase != "instantiate" || history[i].Failed == (name == "the driver answers") {
					t.Errorf("the history is %+v", history)
				}
			})
		})
	}
}

// TestRefusedForOldCredentials checks the error of a request that a driver refuses while the renewal of the VIM's credentials is overdue:
// it names the overdue renewal, unless the request itself is wrong.
func TestRefusedForOldCredentials(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault error
		hint  bool
	}{
		"the VIM refuses the driver": {errors.New("401 Unauthorized"), true},
		"a fault of the request":     {&vnflcm.ParamError{Path: "aspectId", Reason: "is unknown"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				_, y := afterOutage(t, func(v *vims, cfg *vnflcm.Config) {
					cfg.Infra = map[string]vnflcm.InfraDriver{"toy": &cloud{world: v.world, planFault: c.fault}}
				})
				_, err := y.Instantiate(t.Context(), y.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{{VimID: madeVIM}}})
				wantIs(t, err, c.fault)
				if hint := strings.Contains(err.Error(), "credentials of VIM made"); hint != c.hint {
					t.Errorf("the request was refused: %v", err)
				}
			})
		})
	}
}

// noting is a cloud that records its calls.
type noting struct {
	cloud
	planned, begun func(*vnflcm.Operation)
}

func (n *noting) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	n.planned(op)
	return n.cloud.Plan(ctx, op)
}

func (n *noting) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	n.begun(op)
	return n.cloud.Instantiate(ctx, op)
}

// TestRenewalFails checks that a failure is logged with the VIM and the instance, and retried after growing pauses.
func TestRenewalFails(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		v := newVIMs(t, nil, ended())
		v.driver.failed = []error{errors.New("no route, hunter2-1"), errCut}
		id := v.instantiated("plain")
		v.awaitToken(2)
		await(t, "the end of the renewal", func() bool { return strings.Contains(v.log.String(), "have been renewed") })
		lines := strings.Count(v.log.String(), "level=WARN")
		if lines != 2 || strings.Count(v.log.String(), "vim=made instance="+id) < 3 || !strings.Contains(v.log.String(), "no route, ***") || !strings.Contains(v.log.String(), "again=2s") {
			t.Errorf("%d warnings:\n%s", lines, v.log)
		}
	})
}

// TestRenewalWithFastClock checks that the renewal of a new token that is already due waits for a quarter of its validity.
func TestRenewalWithFastClock(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		v := newVIMs(t, nil, ended(), ended(), ended(), ended())
		v.instantiated("plain")
		v.awaitToken(2)
		time.Sleep(4 * renewTTL)
		if n := len(v.driver.renewals()); n != 1 {
			t.Errorf("%d renewals", n)
		}
	})
}

// TestRenewalForGood checks that credentials without an end are not renewed again.
func TestRenewalForGood(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		v := newVIMs(t, nil, ended(), vnflcm.Validity{})
		id := v.instantiated("plain")
		v.awaitToken(2)
		await(t, "no record", func() bool { return v.count("renewal") == 0 })
		if diff := cmp.Diff([]string{"hunter2-2"}, v.ofInstance(id)); diff != "" {
			t.Errorf("the instance:\n%s", diff)
		}
	})
}

// TestRenewalBesideOperation checks that a renewal neither interrupts an operation of the instance nor overwrites its changes.
func TestRenewalBesideOperation(t *testing.T) {
	t.Parallel()
	eachRegistry(t, func(t *testing.T, own vnflcm.VIMs) {
		v := newVIMs(t, own, ended())
		hold := make(chan struct{})
		v.driver.during = func(*vnflcm.Operation) { <-hold }
		v.driver.inHook = func(ctx context.Context, op *vnflcm.Operation) error {
			if err := op.Publish(ctx, op.VNFCs[0], map[string]string{"role": "first"}); err != nil {
				return err
			}
			close(hold)
			await(t, "a new token", func() bool { //nolint:contextcheck // the condition of the test needs no context
				return tokenOf(v.entry()) == "hunter2-2" && slices.Equal(v.ofInstance(op.InstanceID), []string{"hunter2-2"})
			})
			return errors.Join(op.Publish(ctx, op.VNFCs[1], map[string]string{"role": "second"}), op.State().Put(ctx, "k", "v"))
		}
		id := v.instantiated("plain")
		opID, err := v.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
		v.wait(opID, err, vnflcm.Completed)
		if diff := cmp.Diff([]string{"hunter2-2"}, v.ofInstance(id)); diff != "" {
			t.Errorf("the instance:\n%s", diff)
		}
		var roles []string
		info := v.get(id).InstantiatedVnfInfo
		for _, r := range info.VnfcResourceInfo {
			if r.Metadata["role"] != "" {
				roles = append(roles, r.Metadata["role"])
			}
		}
		if len(info.VnfcResourceInfo) != 4 || !cmp.Equal(roles, []string{"first", "second"}) {
			t.Errorf("%d machines, %q", len(info.VnfcResourceInfo), roles)
		}
	})
}

// TestRenewalBesideRequest checks that a request is accepted if the entry is renewed while the request is checked.
func TestRenewalBesideRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		v := newVIMs(t, nil, ended())
		hold := make(chan struct{})
		v.driver.during = func(*vnflcm.Operation) { <-hold }
		id := v.instantiated("plain")
		await(t, "the renewal", func() bool { return len(v.driver.renewals()) == 1 })
		var plans int
		y := v.other(func(c *vnflcm.Config) {
			c.Infra = map[string]vnflcm.InfraDriver{"toy": &noting{cloud{world: v.world}, func(op *vnflcm.Operation) {
				if plans++; plans == 1 {
					close(hold)
					v.awaitToken(2)
				}
			}, func(*vnflcm.Operation) {}}}
		})
		opID, err := y.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
		y.wait(opID, err, vnflcm.Completed)
		if plans != 2 {
			t.Errorf("the operation was planned %d times", plans)
		}
	})
}

// TestRenewalLosesToOperation checks that a renewal does not overwrite an entry that an operation has replaced or removed meanwhile.
func TestRenewalLosesToOperation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin func(v *vims, id string) (string, error)
		want  []string
	}{
		"heal": {func(v *vims, id string) (string, error) { return v.Heal(v.t.Context(), id, vnflcm.HealVnfRequest{}) }, []string{"hunter2-2"}},
		"terminate": {func(v *vims, id string) (string, error) {
			return v.Terminate(v.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachRegistry(t, func(t *testing.T, own vnflcm.VIMs) {
				v := newVIMs(t, own, ended())
				hold := make(chan struct{})
				v.driver.during = func(*vnflcm.Operation) { <-hold }
				id := v.instantiated("plain")
				await(t, "the renewal", func() bool { return len(v.driver.renewals()) == 1 })
				opID, err := c.begin(v, id)
				v.wait(opID, err, vnflcm.Completed)
				version := v.get(id).Version
				close(hold)
				await(t, "the end of the renewal", func() bool { return strings.Contains(v.log.String(), "has changed meanwhile") })
				if got := v.get(id).Version; got != version {
					t.Errorf("the instance has become %s, from %s", got, version)
				}
				if diff := cmp.Diff(c.want, v.ofInstance(id)); diff != "" {
					t.Errorf("the instance:\n%s", diff)
				}
				vim, err := v.VIMs().Get(t.Context(), "", madeVIM)
				if c.want == nil && !errors.Is(err, vnflcm.ErrNotFound) || c.want != nil && tokenOf(vim) != c.want[0] {
					t.Errorf("the registry has %q, %v", tokenOf(vim), err)
				}
			})
		})
	}
}

// TestRenewalLosesToProgram checks that a renewal does not overwrite an entry that the program has replaced meanwhile.
func TestRenewalLosesToProgram(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		v := newVIMs(t, nil, ended())
		mine := params(t, `{"bearer_token":"mine"}`)
		v.driver.during = func(*vnflcm.Operation) {
			if len(v.driver.renewals()) == 1 {
				if err := v.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: madeVIM, VimType: "toy", AccessInfo: mine}); err != nil {
					t.Error(err)
				}
			}
		}
		v.driver.failed = []error{nil, errCut}
		v.instantiated("plain")
		await(t, "the second attempt", func() bool { return len(v.driver.renewals()) >= 2 })
		if got := v.driver.renewals()[1].Token; got != "mine" || tokenOf(v.entry()) != "mine" {
			t.Errorf("the entry has %q, then %q", got, tokenOf(v.entry()))
		}
	})
}

// TestRenewalIsCutOff lets a process die between the issue of a token and its write. The next process must issue a new token.
func TestRenewalIsCutOff(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		v := newVIMs(t, nil)
		v.instantiated("plain")
		closeManager(t, v.Manager)
		fence := &storetest.Fence{Store: v.cfg.Store}
		v.driver.lives, v.driver.issued = []vnflcm.Validity{ended()}, 0
		completed := make(chan struct{})
		v.driver.during = func(*vnflcm.Operation) {
			<-completed
			fence.Cut(true)
		}
		dying := v.other(func(c *vnflcm.Config) { c.Store = fence })
		opID, err := dying.Instantiate(t.Context(), dying.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		dying.wait(opID, err, vnflcm.Completed)
		close(completed)
		await(t, "the attempt", func() bool { return fence.IsCut() })
		v.driver.mu.Lock()
		v.driver.during = nil
		v.driver.mu.Unlock()
		if got := tokenOf(v.entry()); got != "hunter2-1" {
			t.Fatalf("the entry has %q", got)
		}
		v.other(nil)
		v.awaitToken(3)
	})
}

// TestForeignRenewal uses a request with a complete connection and the id of another tenant's entry. The request must neither renew the
// entry nor reveal that its renewal is overdue.
func TestForeignRenewal(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		v := newVIMs(t, nil, ended())
		v.driver.failed = []error{errCut, errCut}
		_, _ = v.instantiate(v.createFor("a"), "plain", vnflcm.Completed)
		await(t, "the first attempt", func() bool { return len(v.driver.renewals()) == 1 })
		closeManager(t, v.Manager)
		request := func(vimID string) vnflcm.InstantiateVnfRequest {
			return vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{
				{ID: "c", VimID: vimID, VimType: "toy", AccessInfo: params(t, `{"bearer_token":"mine"}`)}}}
		}
		y := v.other(func(c *vnflcm.Config) { c.AcceptOnly, c.Runner = true, &engine{} }) // renews nothing in the background
		id := y.createFor("b")
		opID, err := y.Instantiate(t.Context(), id, request(madeVIM))
		must(t, err)
		_, err = runPhases(t, opID, []*toys{y})
		must(t, err)
		history, err := y.History(t.Context(), opID)
		must(t, err)
		if text := fmt.Sprintf("%+v", history); strings.Contains(text, "renew-vim") || strings.Contains(text, "new credentials") {
			t.Errorf("the history of tenant b has the renewal: %s", text)
		}
		if n := len(v.driver.renewals()); n != 1 {
			t.Errorf("%d attempts to renew the entry, want the first one only", n)
		}
		z := v.other(func(c *vnflcm.Config) {
			c.AcceptOnly = true
			c.Infra = map[string]vnflcm.InfraDriver{"toy": &cloud{world: v.world, planFault: errCut}}
		})
		for _, vimID := range []string{madeVIM, "unknown"} {
			if _, err := z.Instantiate(t.Context(), z.createFor("b"), request(vimID)); !errors.Is(err, errCut) || strings.Contains(err.Error(), "renewed") {
				t.Errorf("connection with the id %s: %v", vimID, err)
			}
		}
	})
}

// TestRenewalOfReplacedEntry checks that the driver of an instance does not renew an entry that the program has put under the id of the
// instance's removed entry.
func TestRenewalOfReplacedEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tenant string
		remove func(v *vims) error
	}{
		"tenant":                           {"a", func(v *vims) error { return v.VIMs().Remove(v.t.Context(), "a", madeVIM) }},
		"no tenant":                        {"", func(v *vims) error { return v.VIMs().Remove(v.t.Context(), "", madeVIM) }},
		"tenant, by an earlier version":    {"a", (*vims).removeAsBefore},
		"no tenant, by an earlier version": {"", (*vims).removeAsBefore},
		"replaced by an earlier version": {"a", func(v *vims) error {
			v.share(madeVIM, "a", &vnflcm.Share{All: true})
			v.forgetAttributes("vim", "tenant", "instance") // like an entry of the operator
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				v := newVIMs(t, nil)
				_, _ = v.instantiate(v.createFor(c.tenant), "plain", vnflcm.Completed)
				must(t, c.remove(v))
				must(t, v.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: madeVIM, VimType: "toy", AccessInfo: params(t, `{"bearer_token":"operator's"}`)}))
				time.Sleep(time.Hour)
				if list := v.driver.renewals(); len(list) > 0 {
					t.Errorf("the driver was given the entry of the operator: %+v", list)
				}
				vim, err := v.VIMs().Get(t.Context(), "", madeVIM)
				if err != nil || tokenOf(vim) != "operator's" || !vim.FromOperator || v.count("renewal") != 0 {
					t.Errorf("token %q, from the operator: %t, %d renewals (%v)", tokenOf(vim), vim.FromOperator, v.count("renewal"), err)
				}
			})
		})
	}
}

// removeAsBefore removes the entry and leaves its renewal, as earlier versions did.
func (v *vims) removeAsBefore() error {
	stored, err := v.cfg.Store.Get(v.t.Context(), "vim", madeVIM)
	if err != nil {
		return err
	}
	return v.cfg.Store.Apply(v.t.Context(), store.Batch{Delete: []store.Record{stored}})
}

// TestShareBesideRenewal checks that sharing an entry that was renewed after the program read it keeps the new credentials and the
// instance that has registered the entry.
func TestShareBesideRenewal(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		v := newVIMs(t, nil)
		_, _ = v.instantiate(v.createFor("a"), "plain", vnflcm.Completed)
		list, err := v.VIMs().List(t.Context())
		must(t, err)
		time.Sleep(31 * time.Minute) // the entry is renewed
		for _, vim := range list {
			if vim.VimID == madeVIM {
				must(t, v.VIMs().SetShare(t.Context(), vim.Tenant, madeVIM, vnflcm.Share{Tenants: []string{"b"}}))
			}
		}
		vim, err := v.VIMs().Get(t.Context(), "b", madeVIM)
		must(t, err)
		if tokenOf(vim) != "hunter2-2" || vim.FromOperator || vim.Tenant != "a" {
			t.Errorf("token %q, of tenant %q, from the operator: %t", tokenOf(vim), vim.Tenant, vim.FromOperator)
		}
		wantIs(t, v.VIMs().SetShare(t.Context(), "b", madeVIM, vnflcm.Share{All: true}), vnflcm.ErrNotFound)
		wantIs(t, v.VIMs().SetShare(t.Context(), "a", "unknown", vnflcm.Share{}), vnflcm.ErrNotFound)
		time.Sleep(30 * time.Minute)
		if got, err := v.VIMs().Get(t.Context(), "b", madeVIM); err != nil || tokenOf(got) == tokenOf(vim) {
			t.Errorf("the shared entry was not renewed: %v", err)
		}
	})
}

// TestRenewalIsForgotten checks that the renewal of a removed entry or instance is removed.
func TestRenewalIsForgotten(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(v *vims, id string) error{
		"entry removed by the program": func(v *vims, _ string) error { return v.VIMs().Remove(v.t.Context(), "", madeVIM) },
		"instance abandoned": func(v *vims, id string) error {
			_, err := v.Abandon(v.t.Context(), id)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				v := newVIMs(t, nil, ended())
				v.driver.failed = []error{errCut, errCut, errCut, errCut, errCut, errCut}
				id := v.instantiated("plain")
				must(t, remove(v, id))
				await(t, "no record, and no lease of the last attempt", func() bool { return v.count("renewal")+v.count("lease") == 0 })
			})
		})
	}
}
