package vnflcm_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/internal/nfvotest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// grantedCloud is a VIM that checks that each operation has its grant.
type grantedCloud struct {
	*cloud
	t *testing.T
}

func (c grantedCloud) check(op *vnflcm.Operation, do func(context.Context, *vnflcm.Operation) error) func(context.Context) error {
	if op.Grant == nil || op.Grant.VnfLcmOpOccID != op.ID {
		c.t.Errorf("%s without its grant: %+v", op.Kind, op.Grant)
	}
	return func(ctx context.Context) error { return do(ctx, op) }
}

func (c grantedCloud) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	return c.check(op, c.cloud.Instantiate)(ctx)
}

func (c grantedCloud) Scale(ctx context.Context, op *vnflcm.Operation) error {
	return c.check(op, c.cloud.Scale)(ctx)
}

func (c grantedCloud) Heal(ctx context.Context, op *vnflcm.Operation) error {
	return c.check(op, c.cloud.Heal)(ctx)
}

func (c grantedCloud) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	return c.check(op, c.cloud.Terminate)(ctx)
}

// dyingStore is the store of a process that dies at a write of an operation, after the one that accepts the operation.
type dyingStore struct {
	*storetest.Fence
	at    int  // number of the write, from 1; 0: none
	after bool // the write is done

	mu     sync.Mutex
	known  []string // operations
	writes int
}

func (d *dyingStore) Apply(ctx context.Context, b store.Batch) error {
	dies := d.count(b)
	if dies && !d.after {
		d.Cut(true)
	}
	err := d.Fence.Apply(ctx, b)
	if dies {
		d.Cut(true)
	}
	return err
}

// count counts the write, and reports whether the process dies at it.
func (d *dyingStore) count(b store.Batch) bool {
	i := slices.IndexFunc(b.Put, func(r store.Record) bool { return r.Kind == "operation" })
	if i < 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if id := b.Put[i].ID; !slices.Contains(d.known, id) {
		d.known = append(d.known, id)
		return false
	}
	d.writes++
	return d.writes == d.at
}

// granted is the life of a VNF whose operations an NFVO grants, which leaves each grant undecided at first, and which does not recognize a
// request that is repeated.
func granted(t *testing.T, d *dyingStore, faults ...nfvotest.Fault) {
	t.Helper()
	n := nfvotest.Start(t)
	n.Undecided, n.NeverMatches = 1, true
	n.Then(faults...)
	client, err := nfvo.New(nfvo.Config{URL: n.URL(), LCM: "https://vnfm.example/vnflcm/v2", TLS: n.TLS(), TokenURL: n.TokenURL(), ClientID: nfvotest.ClientID,
		ClientSecret: func() (vnflcm.Secret, error) { return vnflcm.NewSecret(nfvotest.Secret), nil }})
	must(t, err)
	defer client.Close()
	db := store.NewMemory()
	d.Fence = &storetest.Fence{Store: db}
	x := newToys(t, func(cfg *vnflcm.Config) {
		onePlain(cfg)
		cfg.Store, cfg.Granter = d, client
	})
	x.world.dead = d.IsCut
	x.cfg.Infra = map[string]vnflcm.InfraDriver{"toy": grantedCloud{&cloud{world: x.world}, t}}
	x.start()
	id := x.create()
	for _, name := range []string{"instantiate", "scale out", "heal one", "terminate"} {
		s := scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })]
		opID, err := s.begin(x, id)
		must(t, err)
		_, _ = x.Wait(t.Context(), opID)
		if d.IsCut() {
			closeManager(t, x.Manager)
			x.world.dead, d.at = nil, 0
			x.cfg.Store = db
			bury(t, db)
			d.Fence = &storetest.Fence{Store: db}
			x.start()
		}
		occ, _ := x.wait(opID, nil, vnflcm.Completed)
		var ids []string
		for _, g := range n.Grants() {
			if g.Operation == opID {
				ids = append(ids, g.ID)
			}
		}
		if !slices.Contains(ids, occ.GrantID) || len(ids) > 2 {
			t.Errorf("%s has the grant %q; the NFVO has made %v", name, occ.GrantID, ids)
		}
	}
}

// TestLifeWithGrants kills the process at each state change of a life, and loses each answer of the NFVO once: each operation has its grant,
// and the NFVO has at most one more grant of the operation.
func TestLifeWithGrants(t *testing.T) {
	t.Parallel()
	whole := &dyingStore{}
	granted(t, whole)
	if whole.writes < 20 {
		t.Fatalf("%d writes", whole.writes)
	}
	for at := 1; at <= whole.writes; at++ {
		for _, after := range []bool{false, true} {
			if !fulltest.Enabled() && after == (at%2 == 0) {
				continue
			}
			t.Run(fmt.Sprintf("killed at write %d, after it %v", at, after), func(t *testing.T) {
				t.Parallel()
				granted(t, &dyingStore{at: at, after: after})
			})
		}
	}
	const requests = 12 // one POST and two GETs for each operation
	for lost := range requests {
		t.Run(fmt.Sprintf("answer %d is lost", lost+1), func(t *testing.T) {
			t.Parallel()
			granted(t, &dyingStore{}, append(make([]nfvotest.Fault, lost), nfvotest.Lost)...)
		})
	}
}
