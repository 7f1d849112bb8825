package vnflcm_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// witness keeps evidence in instantiate_end, and fails.
type witness struct {
	spy
	keep func(ctx context.Context, op *vnflcm.Operation) error
}

func (w *witness) Hooks() vnflcm.Hooks {
	hooks := w.spy.Hooks()
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error { return errors.Join(errCut, w.keep(ctx, op)) }
	return hooks
}

// witnessed are toys whose instantiation fails after keep.
func witnessed(t *testing.T, keep func(ctx context.Context, op *vnflcm.Operation) error) (x *toys, instanceID, opID string) {
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	keeps := func(ctx context.Context, op *vnflcm.Operation) error { defer end(); return keep(ctx, op) }
	x = newToys(t, func(cfg *vnflcm.Config) {
		cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &witness{spy{cluster{world: cfg.Infra["toy"].(*cloud).world}, func(*vnflcm.Operation) {}}, keeps}}
	})
	instanceID = x.create()
	opID, err := x.Instantiate(t.Context(), instanceID, vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"`+secretWord+`"}`)})
	if err != nil {
		t.Fatal(err)
	}
	<-ended // keep may take longer than an operation may
	x.wait(opID, err, vnflcm.FailedTemp)
	return x, instanceID, opID
}

func evidence(step, content string) vnflcm.Evidence {
	return vnflcm.Evidence{Step: step, On: "worker-0", Files: []vnflcm.EvidenceFile{{Name: "kubelet.journal", Content: content}}}
}

// TestEvidence keeps evidence, reads it, and looks for it and for secrets in the store.
func TestEvidence(t *testing.T) {
	t.Parallel()
	x, id, opID := witnessed(t, func(ctx context.Context, op *vnflcm.Operation) error {
		return errors.Join(op.KeepEvidence(ctx, evidence("join", "before")), op.KeepEvidence(ctx, evidence("join", "login with "+secretWord+" failed")))
	})
	want := vnflcm.Evidence{OperationID: opID, Phase: "instantiate_end", Step: "join", On: "worker-0", Host: "worker0",
		Files: []vnflcm.EvidenceFile{{Name: "kubelet.journal", Content: "login with *** failed"}}}
	got, err := x.Evidence(t.Context(), opID)
	must(t, err)
	if d := cmp.Diff([]vnflcm.Evidence{want}, got, cmpopts.IgnoreFields(vnflcm.Evidence{}, "Time")); d != "" {
		t.Error(d)
	}
	want.Files = nil
	got, err = x.ListEvidence(t.Context(), id)
	must(t, err)
	if d := cmp.Diff([]vnflcm.Evidence{want}, got, cmpopts.IgnoreFields(vnflcm.Evidence{}, "Time")); d != "" {
		t.Error(d)
	}
	if list, err := x.ListEvidence(t.Context(), x.create()); len(list) > 0 || err != nil {
		t.Errorf("another instance has %d, %v", len(list), err)
	}
	_, err = x.Evidence(t.Context(), "none")
	wantIs(t, err, vnflcm.ErrNotFound)
	_, err = x.ListEvidence(t.Context(), "none")
	wantIs(t, err, vnflcm.ErrNotFound)
	if n := x.evidenceRecords(func(r store.Record) {
		if bytes.Contains(r.Body, []byte("kubelet.journal")) {
			t.Error("the evidence is not sealed")
		}
	}); n != 1 {
		t.Errorf("the store has %d", n)
	}
}

func (x *toys) evidenceRecords(each func(store.Record)) int {
	x.t.Helper()
	list, err := x.cfg.Store.List(x.t.Context(), store.Query{Kind: "evidence"})
	must(x.t, err)
	for _, r := range list {
		each(r)
	}
	return len(list)
}

// TestEvidenceEnds removes what evidence belongs to.
func TestEvidenceEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(x *toys, id, opID string) error{
		"purge": func(x *toys, _, _ string) error {
			_, err := x.PurgeOperations(x.t.Context(), time.Now().Add(time.Hour))
			return err
		},
		"delete": func(x *toys, id, _ string) error { return x.Delete(x.t.Context(), id, "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, id, opID := witnessed(t, func(ctx context.Context, op *vnflcm.Operation) error {
				return op.KeepEvidence(ctx, evidence("join", "text"))
			})
			must(t, x.Rollback(t.Context(), opID))
			x.wait(opID, nil, vnflcm.RolledBack)
			must(t, end(x, id, opID))
			if n := x.evidenceRecords(func(store.Record) {}); n != 0 {
				t.Errorf("%d are left", n)
			}
		})
	}
}

// TestEvidenceIsOld lets 31 days pass, in most of which no process runs.
func TestEvidenceIsOld(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		x, _, opID := witnessed(t, func(ctx context.Context, op *vnflcm.Operation) error {
			return op.KeepEvidence(ctx, evidence("join", "text"))
		})
		closeManager(t, x.Manager)
		time.Sleep(29 * 24 * time.Hour)
		x.start()
		time.Sleep(2 * time.Hour)
		if got, err := x.Evidence(t.Context(), opID); len(got) != 1 || err != nil {
			t.Errorf("after 29 days: %d, %v", len(got), err)
		}
		closeManager(t, x.Manager)
		time.Sleep(2 * 24 * time.Hour)
		x.start()
		if got, err := x.Evidence(t.Context(), opID); len(got) != 0 || err != nil {
			t.Errorf("after 31 days: %d, %v", len(got), err)
		}
		time.Sleep(2 * time.Hour)
		if n := x.evidenceRecords(func(store.Record) {}); n != 0 {
			t.Errorf("after 31 days the store has %d", n)
		}
	})
}

// TestEvidenceIsBounded keeps more than may be kept.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 3<<20/2)
	_, _ = rand.Read(noise)
	text := hex.EncodeToString(noise) // 3 MiB, half of it when compressed
	var kept int
	var last error
	_, _, _ = witnessed(t, func(ctx context.Context, op *vnflcm.Operation) error {
		if err := op.KeepEvidence(ctx, evidence("large", strings.Repeat("x", 4<<20+1))); !errors.Is(err, vnflcm.ErrInvalidRequest) {
			t.Errorf("more than 4 MiB: %v", err)
		}
		for last == nil && kept < 100 {
			if last = op.KeepEvidence(ctx, evidence("step-"+string(rune('a'+kept)), text)); last == nil {
				kept++
			}
		}
		return nil
	})
	if !errors.Is(last, vnflcm.ErrInvalidRequest) || kept < 8 || kept > 14 {
		t.Errorf("%d were kept, then %v", kept, last)
	}
}
