package vnflcm_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/keyring"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// damages are the kinds of damage to a body. A body without the header of a sealed body could be sealed under a key that this process
// does not have.
var damages = map[string]func(t *testing.T, r store.Record) []byte{
	"text":  func(*testing.T, store.Record) []byte { return []byte("damaged, and long enough to hold a nonce") },
	"empty": func(*testing.T, store.Record) []byte { return nil },
	"cut":   func(_ *testing.T, r store.Record) []byte { return r.Body[:len(r.Body)-10] },
	"a bit": func(_ *testing.T, r store.Record) []byte {
		body := bytes.Clone(r.Body)
		body[len(body)/2] ^= 1
		return body
	},
	"no JSON": func(t *testing.T, r store.Record) []byte { return sealed(t, r, `{"a"`) },
}

// identityOf returns the identity to which the body of a record is bound.
func identityOf(r store.Record) (identity []byte) {
	for _, n := range []int64{r.Version, r.Index.Start} {
		identity = binary.BigEndian.AppendUint64(identity, uint64(n)) //nolint:gosec // the same conversion as in the Manager
	}
	for _, text := range []string{r.Kind, r.ID, r.Index.State, r.Index.Operation, r.Index.Instance, r.Index.VNFD} {
		identity = append(binary.BigEndian.AppendUint64(identity, uint64(len(text))), text...)
	}
	return identity
}

// sealed returns the body of the next version of a record.
func sealed(t *testing.T, r store.Record, clear string) []byte {
	t.Helper()
	ring, err := keyring.New(testKey)
	must(t, err)
	r.Version++
	body, err := ring.Seal([]byte(clear), identityOf(r))
	must(t, err)
	return body
}

// seemsForeign reports whether a damaged body could be sealed under a key that this process does not have.
func seemsForeign(damage string) bool { return damage == "text" || damage == "empty" }

// stateful is a toy cluster that stores a key in the State of its instances. Heal fails without the key.
type stateful struct{ cluster }

func (d *stateful) Hooks() vnflcm.Hooks {
	hooks := d.cluster.Hooks()
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
		return errors.Join(op.State().Put(ctx, "hostkey/vm", "k"), d.build(ctx, op))
	}
	hooks[vnflcm.HealStart] = func(ctx context.Context, op *vnflcm.Operation) error {
		var key string
		if err := op.State().Get(ctx, "hostkey/vm", &key); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
			return err
		}
		return d.leaveReplaced(ctx, op)
	}
	return hooks
}

// patient is a store with a damaged record.
type patient struct {
	*toys
	good string // an instance without damage
	log  *logText
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{log: new(logText)}
	p.toys = newToys(t, func(cfg *vnflcm.Config) {
		cfg.LeaseTTL, cfg.Logger = shortTTL, slog.New(slog.NewTextHandler(p.log, nil))
	})
	p.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &stateful{cluster{world: p.world}}}
	p.start()
	p.good = p.instantiated("plain")
	return p
}

// failed creates an instance with a scaling in FAILED_TEMP.
func (p *patient) failed() (id, opID string) {
	p.t.Helper()
	id = p.instantiated("plain")
	p.world.failAt("scale_end/join/worker-2", errCut)
	opID, err := p.Scale(p.t.Context(), id, scale(vnflcm.ScaleOut, 1))
	p.wait(opID, err, vnflcm.FailedTemp)
	p.world.failAt("scale_end/join/worker-2", nil)
	return id, opID
}

// accepted creates an instance with an instantiation that no process runs.
func (p *patient) accepted() (id, opID string) {
	p.t.Helper()
	closeManager(p.t, p.Manager) // it would take the operation up
	y := p.other(func(cfg *vnflcm.Config) { cfg.AcceptOnly = true })
	id = y.create()
	opID, err := y.Instantiate(p.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(p.t, err)
	return id, opID
}

// cut creates an instance with an operation in PROCESSING whose process has ended.
func (p *patient) cut(begin func(x *toys, id string) (string, error), at string) (id, opID string) {
	p.t.Helper()
	id = p.create()
	if !strings.HasPrefix(at, "instantiate") {
		p.instantiate(id, "plain", vnflcm.Completed)
	}
	closeManager(p.t, p.Manager) // it would take the operation up
	y := &toys{t: p.t, world: p.world, cfg: p.cfg}
	g := y.holdAt(at)
	opID, err := begin(y, id)
	must(p.t, err)
	<-g.reached
	closeManager(p.t, y.Manager)
	return id, opID
}

// logText stores a log.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// logs waits until the log has a text.
func (p *patient) logs(text string) {
	p.t.Helper()
	synctest.Wait()
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	if !strings.Contains(p.log.text.String(), text) {
		p.t.Errorf("the log lacks %q:\n%s", text, p.log.text.String())
	}
}

// finds checks that an error names the damaged record.
func (p *patient) finds(kind, id string, err error) {
	p.t.Helper()
	if !errors.Is(err, vnflcm.ErrUnreadable) || !strings.Contains(err.Error(), kind+" "+id) {
		p.t.Errorf("error %v, want ErrUnreadable for %s %s", err, kind, id)
	}
}

// works checks that operations of the instance can be started and completed.
func (p *patient) works(id string) {
	p.t.Helper()
	opID, err := p.Heal(p.t.Context(), id, vnflcm.HealVnfRequest{})
	p.wait(opID, err, vnflcm.Completed)
	p.ends(id)
}

// ends terminates and deletes the instance, and checks that no record of it is left.
func (p *patient) ends(id string) {
	p.t.Helper()
	opID, err := p.Terminate(p.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	p.wait(opID, err, vnflcm.Completed)
	must(p.t, p.DeleteWithOperations(p.t.Context(), id))
	if left := p.world.state(id).Machines; len(left) > 0 {
		p.t.Errorf("machines are left: %v", left)
	}
}

// resume waits until the Manager has searched for operations of the earlier process. If damaged is set, the log must name the record.
func (p *patient) resume(kind, id string, damaged bool) {
	p.t.Helper()
	time.Sleep(patience / 8) // the Manager searches at least every eighth of the LeaseTTL
	if damaged {
		p.logs(kind + " " + id + ": " + vnflcm.ErrUnreadable.Error())
	}
}

// TestDamagedRecords damages one record of each kind in each way. The next process must start, work with all other records, name the
// damaged record, and have a call that removes the problem.
func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	instantiate := func(x *toys, id string) (string, error) {
		return x.Instantiate(x.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	}
	heal := func(x *toys, id string) (string, error) { return x.Heal(x.t.Context(), id, vnflcm.HealVnfRequest{}) }
	for name, c := range map[string]struct {
		kind string
		// prepare returns the id of the record, and a function that checks the next process.
		prepare func(p *patient, damage string) (id string, then func())
		blocks  bool // the damage blocks the default VIM
	}{
		"instance": {kind: "instance", prepare: func(p *patient, _ string) (string, func()) {
			id := p.instantiated("plain")
			known := *p.get(id)
			return id, func() {
				ctx := p.t.Context()
				_, err := p.Get(ctx, id)
				p.finds("instance", id, err)
				_, err = heal(p.toys, id)
				p.finds("instance", id, err)
				_, err = p.Abandon(ctx, id)
				p.finds("instance", id, err)
				list, err := p.Instances(ctx, vnflcm.InstanceQuery{})
				p.finds("instance", id, err)
				if len(list.Items) != 1 || list.Items[0].ID != p.good {
					p.t.Errorf("%d instances are listed, want only the undamaged instance", len(list.Items))
				}
				must(p.t, p.Forget(ctx, "instance", id))
				_, err = p.Adopt(ctx, known, vnflcm.InstantiateVnfRequest{FlavourID: "plain"}, "cluster of toys")
				must(p.t, err)
				p.works(id)
			}
		}},
		"instance of a failed operation": {kind: "instance", prepare: func(p *patient, _ string) (string, func()) {
			id, opID := p.failed()
			return id, func() {
				p.finds("instance", id, p.Fail(p.t.Context(), opID))
				must(p.t, p.Forget(p.t.Context(), "instance", id))
				p.wait(opID, p.Fail(p.t.Context(), opID), vnflcm.Failed)
			}
		}},
		"instance of an operation in STARTING": {kind: "instance", prepare: func(p *patient, _ string) (string, func()) {
			id, opID := p.accepted()
			return id, func() {
				p.resume("", "", false)
				must(p.t, p.Forget(p.t.Context(), "instance", id))
				p.wait(opID, nil, vnflcm.RolledBack)
			}
		}},
		"instance of an operation in PROCESSING": {kind: "instance", prepare: func(p *patient, _ string) (string, func()) {
			id, opID := p.cut(heal, "heal_end/join/worker-0")
			return id, func() {
				p.resume("", "", false)
				_, err := p.wait(opID, nil, vnflcm.FailedTemp)
				p.finds("instance", id, err)
				must(p.t, p.Forget(p.t.Context(), "instance", id))
				p.wait(opID, p.Fail(p.t.Context(), opID), vnflcm.Failed)
			}
		}},
		"operation in FAILED_TEMP": {kind: "operation", prepare: func(p *patient, _ string) (string, func()) {
			id, opID := p.failed()
			return opID, func() {
				ctx := p.t.Context()
				_, err := p.Operation(ctx, opID)
				p.finds("operation", opID, err)
				p.finds("operation", opID, p.Fail(ctx, opID))
				if _, err = heal(p.toys, id); !errors.Is(err, vnflcm.ErrConflict) || !strings.Contains(err.Error(), "Forget") {
					p.t.Errorf("the instance is locked: %v", err)
				}
				_, err = p.Abandon(ctx, id)
				p.finds("operation", opID, err)
				must(p.t, p.Forget(ctx, "operation", opID))
				p.works(id)
			}
		}},
		"operation in PROCESSING": {kind: "operation", prepare: func(p *patient, _ string) (string, func()) {
			id, opID := p.cut(heal, "heal_end/join/worker-0")
			return opID, func() {
				p.resume("operation", opID, true)
				must(p.t, p.Forget(p.t.Context(), "operation", opID))
				p.works(id)
			}
		}},
		"instantiation": {kind: "operation", prepare: func(p *patient, _ string) (string, func()) {
			id, opID := p.cut(instantiate, "instantiate_end/init/")
			return opID, func() {
				p.resume("operation", opID, true)
				must(p.t, p.Forget(p.t.Context(), "operation", opID))
				p.ends(id)
			}
		}},
		"claim": {kind: "claim", prepare: func(p *patient, damage string) (string, func()) {
			_, opID := p.cut(heal, "heal_end/join/worker-0")
			return opID, func() {
				p.resume("claim", opID, seemsForeign(damage))
				if seemsForeign(damage) {
					must(p.t, p.Forget(p.t.Context(), "claim", opID))
				}
				p.wait(opID, nil, vnflcm.Completed)
			}
		}},
		"claim in FAILED_TEMP": {kind: "claim", prepare: func(p *patient, _ string) (string, func()) {
			_, opID := p.failed()
			return opID, func() { p.wait(opID, p.Retry(p.t.Context(), opID), vnflcm.Completed) }
		}},
		"forgotten claim in FAILED_TEMP": {kind: "claim", prepare: func(p *patient, _ string) (string, func()) {
			_, opID := p.failed()
			return opID, func() {
				must(p.t, p.Forget(p.t.Context(), "claim", opID))
				p.resume("", "", false)
				p.wait(opID, p.Fail(p.t.Context(), opID), vnflcm.Failed)
			}
		}},
		"process": {kind: "process", prepare: func(p *patient, _ string) (string, func()) {
			must(p.t, p.cfg.Store.Apply(p.t.Context(), store.Batch{Put: []store.Record{{Kind: "process", ID: "dead", Body: make([]byte, 100)}}}))
			return "dead", func() { p.resume("", "", false) }
		}},
		"cancel": {kind: "cancel", prepare: func(p *patient, _ string) (string, func()) {
			_, opID := p.accepted()
			must(p.t, p.Cancel(p.t.Context(), opID, vnflcm.CancelForceful))
			return opID, func() {
				p.resume("", "", false)
				p.wait(opID, nil, vnflcm.Completed)
				p.logs("the request to cancel it cannot be read")
			}
		}},
		"step": {kind: "step", prepare: func(p *patient, _ string) (string, func()) {
			id, opID := p.failed()
			return opID + "/scale/create/worker-2", func() {
				p.wait(opID, p.Retry(p.t.Context(), opID), vnflcm.Completed)
				p.works(id)
			}
		}},
		"history": {kind: "history", prepare: func(p *patient, _ string) (string, func()) {
			_, opID := p.failed()
			return opID, func() {
				_, err := p.History(p.t.Context(), opID)
				p.finds("history", opID, err)
				must(p.t, p.Forget(p.t.Context(), "history", opID))
				_, err = p.History(p.t.Context(), opID)
				must(p.t, err)
				p.wait(opID, p.Retry(p.t.Context(), opID), vnflcm.Completed)
			}
		}},
		"change": {kind: "change", prepare: func(p *patient, _ string) (string, func()) {
			list, _, err := p.cfg.Store.Feed(p.t.Context(), "", 1)
			must(p.t, err)
			return list[0].ID, func() {
				all, next, err := p.Changes(p.t.Context(), "", 100)
				p.finds("change", list[0].ID, err)
				if len(all) < 2 {
					p.t.Errorf("%d changes are left", len(all))
				}
				_, _, err = p.Changes(p.t.Context(), next, 100)
				must(p.t, err)
				_, err = p.PurgeOperations(p.t.Context(), time.Now().Add(time.Hour))
				must(p.t, err)
			}
		}},
		"state": {kind: "state", prepare: func(p *patient, _ string) (string, func()) {
			id := p.instantiated("plain")
			return id + "/hostkey/vm", func() {
				opID, err := heal(p.toys, id)
				_, err = p.wait(opID, err, vnflcm.FailedTemp)
				p.finds("state", id+"/hostkey/vm", err)
				must(p.t, p.Forget(p.t.Context(), "state", id+"/hostkey/vm"))
				p.wait(opID, p.Retry(p.t.Context(), opID), vnflcm.Completed)
			}
		}},
		"document": {kind: "document", prepare: func(p *patient, _ string) (string, func()) {
			notes := p.Documents("notes")
			must(p.t, errors.Join(notes.Put(p.t.Context(), "a", 0, "a"), notes.Put(p.t.Context(), "b", 0, "b")))
			return "notes/a", func() {
				notes := p.Documents("notes")
				list, err := notes.List(p.t.Context(), "", 0)
				must(p.t, err)
				p.finds("document", "notes/a", list[0].Decode(new(string)))
				must(p.t, list[1].Decode(new(string)))
				must(p.t, p.Forget(p.t.Context(), "document", "notes/a"))
			}
		}},
		"lease": {kind: "lease", prepare: func(p *patient, _ string) (string, func()) {
			must(p.t, p.cfg.Store.Apply(p.t.Context(), store.Batch{Put: []store.Record{{Kind: "lease", ID: "work", Body: make([]byte, 100)}}}))
			return "work", func() {
				must(p.t, p.Exclusively(p.t.Context(), "work", func(context.Context) error { return nil }))
			}
		}},
		"VIM": {kind: "vim", blocks: true, prepare: func(p *patient, _ string) (string, func()) {
			return "vim1", func() {
				_, err := heal(p.toys, p.good)
				p.finds("vim", "vim1", err)
				must(p.t, p.VIMs().Put(p.t.Context(), vnflcm.VimConnectionInfo{VimID: "vim1", VimType: "toy"}))
			}
		}},
		"default VIM": {kind: "vim-default", prepare: func(p *patient, _ string) (string, func()) {
			return "toy", func() {
				_, err := instantiate(p.toys, p.create())
				p.finds("vim-default", "toy", err)
				must(p.t, p.VIMs().SetDefault(p.t.Context(), "", "vim1"))
				p.works(p.instantiated("plain"))
			}
		}},
		"renewal": {kind: "renewal", prepare: func(p *patient, _ string) (string, func()) {
			must(p.t, p.cfg.Store.Apply(p.t.Context(), store.Batch{Put: []store.Record{{Kind: "renewal", ID: "made", Body: make([]byte, 100), Index: store.Index{Start: 1}}}}))
			return "made", func() {
				p.resume("", "", false)
				p.logs("renewal made")
				must(p.t, p.Forget(p.t.Context(), "renewal", "made"))
			}
		}},
		"meta": {kind: "meta", prepare: func(p *patient, _ string) (string, func()) {
			return "key", func() {
				p.logs("the format and the key of the store is damaged")
				_, err := vnflcm.New(p.t.Context(), vnflcm.Config{Store: p.cfg.Store, Key: otherKey, Packages: p.cfg.Packages})
				wantIs(p.t, err, vnflcm.ErrUnreadable)
			}
		}},
		"adoption": {kind: "adoption", prepare: func(p *patient, _ string) (string, func()) {
			must(p.t, p.cfg.Store.Apply(p.t.Context(), store.Batch{Put: []store.Record{{Kind: "adoption", ID: "latest", Body: make([]byte, 100)}}}))
			id := p.instantiated("plain")
			known := *p.get(id)
			_, err := p.Abandon(p.t.Context(), id)
			must(p.t, err)
			return "latest", func() {
				_, err := p.Adopt(p.t.Context(), known, vnflcm.InstantiateVnfRequest{FlavourID: "plain"}, "cluster of toys")
				must(p.t, err)
				p.works(id)
			}
		}},
		"abandoned": {kind: "abandoned", prepare: func(p *patient, _ string) (string, func()) {
			id, other := p.instantiated("plain"), p.instantiated("plain")
			for _, each := range []string{id, other} {
				_, err := p.Abandon(p.t.Context(), each)
				must(p.t, err)
			}
			return id, func() {
				list, err := p.Abandoned(p.t.Context())
				p.finds("abandoned", id, err)
				if len(list) != 1 || list[0].VNF.InstanceID != other {
					p.t.Errorf("abandoned: %v", list)
				}
				must(p.t, p.Forget(p.t.Context(), "abandoned", id))
			}
		}},
		"hook": {kind: "hook", prepare: func(p *patient, _ string) (string, func()) {
			must(p.t, p.cfg.Store.Apply(p.t.Context(), store.Batch{Put: []store.Record{{Kind: "hook", ID: "o9/heal_end", Body: make([]byte, 100)}}}))
			return "o9/heal_end", func() {
				must(p.t, vnflcm.ForgetHooks(p.t.Context(), p.cfg, "another"))
				must(p.t, p.Forget(p.t.Context(), "hook", "o9/heal_end"))
			}
		}},
		"request of a hook": {kind: "hook-initial", prepare: func(p *patient, _ string) (string, func()) {
			must(p.t, p.cfg.Store.Apply(p.t.Context(), store.Batch{Put: []store.Record{{Kind: "hook-initial", ID: "i9", Body: make([]byte, 100)}}}))
			return "i9", func() { must(p.t, vnflcm.ForgetHooks(p.t.Context(), p.cfg, "i9")) }
		}},
	} {
		for damage, spoil := range damages {
			t.Run(fmt.Sprintf("%s/%s", name, damage), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T) {
					p := newPatient(t)
					id, then := c.prepare(p, damage)
					closeManager(t, p.Manager)
					r, err := p.cfg.Store.Get(t.Context(), c.kind, id)
					must(t, err)
					r.Body = spoil(t, r)
					must(t, p.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{r}}))
					p.start()
					if !c.blocks {
						opID, err := heal(p.toys, p.good)
						p.wait(opID, err, vnflcm.Completed)
					}
					then()
					p.works(p.good)
					list, err1 := p.Instances(t.Context(), vnflcm.InstanceQuery{})
					operations, err2 := p.Operations(t.Context(), vnflcm.OperationQuery{})
					if err := errors.Join(err1, err2); err != nil {
						t.Errorf("after the way out %d instances and %d operations are listed: %v", len(list.Items), len(operations.Items), err)
					}
					for _, kind := range []string{"claim", "cancel", "step"} {
						left, err := p.cfg.Store.List(t.Context(), store.Query{Kind: kind})
						must(t, err)
						if len(left) > 0 {
							t.Errorf("%d records of the kind %s are left", len(left), kind)
						}
					}
				})
			})
		}
	}
}

// TestStoreOfNewerVersion checks that New refuses a store of a newer version of vnfkit and does not change it.
func TestStoreOfNewerVersion(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	x.instantiated("plain")
	closeManager(t, x.Manager)
	r, err := x.cfg.Store.Get(t.Context(), "meta", "key")
	must(t, err)
	r.Body = sealed(t, r, `"vnfkit 2"`)
	must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{r}}))
	_, err = vnflcm.New(t.Context(), x.cfg)
	wantIs(t, err, vnflcm.ErrUnreadable)
	if err == nil || !strings.Contains(err.Error(), "written by a newer version of vnfkit") {
		t.Errorf("New: %v", err)
	}
	if now, err := x.cfg.Store.Get(t.Context(), "meta", "key"); err != nil || now.Version != r.Version+1 {
		t.Errorf("the record was written again: %v", err)
	}
}

// TestRestoredInstance restores the record of an instance from a backup made during an operation that has ended since. The instance must
// not be locked.
func TestRestoredInstance(t *testing.T) {
	t.Parallel()
	ring, err := keyring.New(testKey)
	must(t, err)
	for name, work := range map[string]func(x *toys, id string){
		"operated": (*toys).operate,
		"abandoned": func(x *toys, id string) {
			_, err := x.Abandon(t.Context(), id)
			must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			id := x.instantiated("plain")
			x.world.failAt("scale_end/join/worker-2", errCut)
			opID, err := x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1))
			x.wait(opID, err, vnflcm.FailedTemp)
			backup, err := x.cfg.Store.Get(t.Context(), "instance", id)
			must(t, err)
			x.wait(opID, x.Fail(t.Context(), opID), vnflcm.Failed)
			now, err := x.cfg.Store.Get(t.Context(), "instance", id)
			must(t, err)
			clear, err := ring.Open(backup.Body, identityOf(backup))
			must(t, err)
			now.Body = sealed(t, now, string(clear))
			must(t, x.cfg.Store.Apply(t.Context(), store.Batch{Put: []store.Record{now}}))
			work(x, id)
		})
	}
}

// TestForgetWhileRunning checks that Forget of a running operation also ends it in the process that runs it, and that the next operation
// can change the instance.
func TestForgetWhileRunning(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	g := x.holdAt("heal_end/join/worker-0")
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	must(t, err)
	<-g.reached
	y := x.other(nil)
	r, err := x.cfg.Store.Get(t.Context(), "operation", opID)
	must(t, err)
	damage(x, r)
	must(t, y.Forget(t.Context(), "operation", opID))
	close(g.open)
	_, err = x.Wait(t.Context(), opID)
	wantIs(t, err, vnflcm.ErrNotFound)
	y.operate(id)
}
