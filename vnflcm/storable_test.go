package vnflcm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/pgtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/postgres"
)

// unstorable are texts that PostgreSQL refuses in a column.
var unstorable = map[string]string{"NUL": "a\x00b", "no UTF-8": "a\xffb", "lone surrogate": "a\xed\xa0\x80b", "long": strings.Repeat("x", 3000)}

// TestUnstorableText checks that a text that databases refuse fails the operation instead of being retried forever, and that searching for
// it finds no record.
func TestUnstorableText(t *testing.T) {
	t.Parallel()
	for name, text := range unstorable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			x.watch(func(op *vnflcm.Operation) {
				if op.Phase() != "instantiate_end" {
					return
				}
				if err := op.State().Put(t.Context(), "hostkey/"+text, "key"); err == nil {
					t.Error("the state was stored")
				} else if strings.Contains(err.Error(), "\x00") || len(err.Error()) > 500 {
					t.Errorf("the error quotes the text: %q", err)
				}
			})
			x.instantiated("plain")
			_, err := x.Get(t.Context(), text)
			wantIs(t, err, vnflcm.ErrNotFound)
			page, err := x.Instances(t.Context(), vnflcm.InstanceQuery{VnfdID: text})
			if err != nil || len(page.Items) > 0 {
				t.Errorf("%d instances, %v", len(page.Items), err)
			}
			_, err = x.Operation(context.Background(), text)
			wantIs(t, err, vnflcm.ErrNotFound)
		})
	}
}

// oddCloud is a cloud that returns a text in every attribute.
type oddCloud struct {
	*cloud
	text string
}

func (c *oddCloud) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	r, err := c.cloud.Resources(ctx, op)
	for i := range r.VNFCs {
		v := &r.VNFCs[i]
		v.ID += c.text
		v.ResourceID, v.Aspect, v.Name, v.Zone, v.Host, v.HostKey = v.ID, c.text, c.text, c.text, c.text, c.text
		v.StorageIDs, v.Metadata = []string{c.text}, map[string]string{c.text: c.text}
		v.CPs = []vnflcm.ConnectionPoint{{CPD: c.text, ResourceID: c.text, MAC: c.text}}
	}
	r.ConnectionPoints = []vnflcm.ConnectionPoint{{CPD: c.text, ResourceID: c.text}}
	r.VirtualLinks = []vnflcm.VirtualLink{{ID: c.text, VLD: c.text, ResourceID: c.text}}
	r.Storages = []vnflcm.Storage{{ID: c.text, ResourceID: c.text}}
	r.Metadata = map[string]string{c.text: c.text}
	return r, err
}

// oddities are the calls that hooks make with a text.
var oddities = map[string]func(context.Context, *vnflcm.Operation, string) error{
	"publish": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		return op.Publish(ctx, vnflcm.VNFC{ID: text, ResourceID: text}, map[string]string{text: text})
	},
	"VIM": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		login, err := vnflcm.NewParams(map[string]string{"token": text, text: text})
		return errors.Join(err, op.RegisterVIM(ctx, vnflcm.VimConnectionInfo{VimID: "cluster", VimType: "toy", AccessInfo: login}))
	},
	"VIM id": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		return op.RegisterVIM(ctx, vnflcm.VimConnectionInfo{VimID: text, VimType: "toy"})
	},
	"removed VIM": func(ctx context.Context, op *vnflcm.Operation, text string) error { return op.RemoveVIM(ctx, text) },
	"state": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		return op.State().Put(ctx, "k", text)
	},
	"state key": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		return op.State().Put(ctx, text, "v")
	},
	"read key": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		return op.State().Get(ctx, text, new(string))
	},
	"key": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		return op.State().Delete(ctx, text)
	},
	"keys": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		_, err := op.State().Keys(ctx, text)
		return err
	},
	"result": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		_, err := vnflcm.Run(ctx, op, vnflcm.Step[map[string]string]{Name: "odd", Do: func(context.Context) (map[string]string, error) {
			return map[string]string{text: text}, nil
		}})
		return err
	},
	"long machine": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		done := false
		op.Declare(text + strings.Repeat("y", 3000))
		_, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{Name: "odd", On: text + strings.Repeat("y", 3000), Do: func(context.Context) (string, error) {
			done = true
			return "", nil
		}})
		if done {
			err = nil // unexpected: the operation did not fail
		}
		return err
	},
	"machine": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		op.Declare(text)
		_, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{Name: "odd", On: text, Do: func(context.Context) (string, error) { return text, nil }})
		return err
	},
	"error": func(_ context.Context, _ *vnflcm.Operation, text string) error { return errors.New(text) },
	"error of step": func(ctx context.Context, op *vnflcm.Operation, text string) error {
		_, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{Name: "odd", Do: func(context.Context) (string, error) { return "", errors.New(text) }})
		return err
	},
}

// harmless are the oddities that do not fail an operation, because the text is stored inside a body or not at all.
var harmless = map[string]bool{"publish": true, "VIM": true, "removed VIM": true, "state": true, "key": true, "keys": true, "result": true}

// oddHooks is a MgmtDriver with one hook for each operation.
type oddHooks struct {
	*cluster
	do   func(context.Context, *vnflcm.Operation, string) error
	text string
}

func (d *oddHooks) Hooks() vnflcm.Hooks {
	hooks := d.cluster.Hooks()
	for hook, inner := range hooks {
		hooks[hook] = func(ctx context.Context, op *vnflcm.Operation) error {
			return errors.Join(inner(ctx, op), d.do(ctx, op, d.text))
		}
	}
	return hooks
}

// TestOddAnswers checks that operations end, documents can be read and failed operations can be ended with Fail, whatever texts drivers
// return.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	oddAnswers(t, func(*testing.T) store.Store { return store.NewMemory() })
}

// TestOddAnswersPostgres is TestOddAnswers with a database that refuses some texts.
func TestOddAnswersPostgres(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	oddAnswers(t, func(t *testing.T) store.Store {
		store, err := postgres.Open(t.Context(), server.NewDatabase(t), postgres.Options{MaxConns: 2})
		must(t, err)
		t.Cleanup(func() { must(t, store.Close()) })
		return store
	})
}

func oddAnswers(t *testing.T, open func(*testing.T) store.Store) {
	for name, text := range unstorable {
		t.Run(name, func(t *testing.T) {
			x := newToys(t, func(cfg *vnflcm.Config) {
				cfg.Store = open(t)
				cfg.Infra = map[string]vnflcm.InfraDriver{"toy": &oddCloud{cfg.Infra["toy"].(*cloud), text}}
			})
			x.oddLife(t, "resources", func(context.Context, *vnflcm.Operation, string) error { return nil }, text)
			x.cfg.Infra = map[string]vnflcm.InfraDriver{"toy": &cloud{world: x.world}}
			for oddity, do := range oddities {
				x.oddLife(t, oddity, do, text)
			}
		})
	}
}

// oddLife instantiates, heals and terminates a VNF. It calls Fail for operations in FAILED_TEMP.
func (x *toys) oddLife(t *testing.T, oddity string, do func(context.Context, *vnflcm.Operation, string) error, text string) {
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &oddHooks{&cluster{world: x.world}, do, text}}
	x.start()
	id := x.create()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	end := func(opID string, err error) {
		if errors.Is(err, vnflcm.ErrState) || errors.Is(err, vnflcm.ErrInvalidRequest) {
			return // the previous operation has failed
		}
		must(t, err)
		occ, err := x.Wait(ctx, opID)
		if occ == nil || !slices.Contains([]vnflcm.OperationState{vnflcm.Completed, vnflcm.FailedTemp}, occ.OperationState) {
			t.Fatalf("%s: %+v, %v", oddity, occ, err)
		}
		if occ.OperationState == vnflcm.FailedTemp {
			must(t, x.Fail(ctx, opID))
			if harmless[oddity] {
				t.Errorf("%s: %s failed: %v", oddity, occ.Operation, err)
			}
		} else if oddity == "long machine" {
			t.Errorf("%s: %s did not fail", oddity, occ.Operation)
		}
		for what, read := range map[string]func() error{
			"instance":   func() error { _, err := x.Get(ctx, id); return err },
			"instances":  func() error { _, err := x.Instances(ctx, vnflcm.InstanceQuery{Limit: 100}); return err },
			"operation":  func() error { _, err := x.Operation(ctx, opID); return err },
			"operations": func() error { _, err := x.Operations(ctx, vnflcm.OperationQuery{InstanceID: id}); return err },
			"history":    func() error { _, err := x.History(ctx, opID); return err },
			"changes":    func() error { _, _, err := x.Changes(ctx, "", 1000); return err },
			"VIM":        func() error { _, err := x.VIMs().Get(ctx, "", text); return ignore(err, vnflcm.ErrNotFound) },
			"no VIM":     func() error { return x.VIMs().Remove(ctx, "", text) },
		} {
			if err := read(); err != nil {
				t.Errorf("%s: %s: %v", oddity, what, err)
			}
		}
	}
	end(x.Instantiate(ctx, id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"}))
	end(x.Heal(ctx, id, vnflcm.HealVnfRequest{}))
	end(x.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
}

func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}
