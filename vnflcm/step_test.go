package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// inHook runs a function as the instantiate_end hook of a new instance. Every call starts a new Manager, so a second call for the same
// instance is a resume.
func (x *toys) inHook(opID string, hook func(context.Context, *vnflcm.Operation) error) (string, error) {
	x.t.Helper()
	hooks := (&cluster{world: x.world}).Hooks()
	hooks[vnflcm.InstantiateEnd] = hook
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
	x.start()
	var err error
	if opID == "" {
		opID, err = x.Instantiate(x.t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	} else {
		err = x.Retry(x.t.Context(), opID)
	}
	must(x.t, err)
	_, err = x.Wait(x.t.Context(), opID)
	return opID, err
}

type joined struct {
	Token string   `json:"token"`
	Names []string `json:"names"`
	kept  string   // unexported, so not in the journal
}

func TestStepResultComesFromTheJournal(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	did := 0
	var got []joined
	hook := func(ctx context.Context, op *vnflcm.Operation) error {
		op.Declare("a/b c")
		r, err := vnflcm.Run(ctx, op, vnflcm.Step[joined]{Name: "join", On: "a/b c", Do: func(context.Context) (joined, error) {
			did++
			return joined{"t", []string{"n"}, "lost"}, nil
		}})
		got = append(got, r)
		return errors.Join(err, errCut) // fails the operation, so that the test can retry it
	}
	opID, _ := x.inHook("", hook)
	x.inHook(opID, hook)
	want := joined{Token: "t", Names: []string{"n"}} // also in the first run, because a resume must get the same value
	if diff := cmp.Diff([]joined{want, want}, got, cmp.AllowUnexported(joined{})); diff != "" || did != 1 {
		t.Errorf("Do ran %d times, results:\n%s", did, diff)
	}
}

func TestStepRevProbeAndDamagedEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		between func(*toys, store.Record)
		rev     int
		probe   bool
		want    []string
	}{
		"same":                   {want: []string{"do"}},
		"another Rev":            {rev: 2, want: []string{"do", "do"}},
		"another Rev, probed":    {rev: 2, probe: true, want: []string{"probe", "do", "probe"}},
		"damaged":                {between: damage, want: []string{"do", "do"}},
		"damaged, probed":        {between: damage, probe: true, want: []string{"probe", "do", "probe"}},
		"result of another type": {rev: -1, want: []string{"do", "do other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			var calls []string
			world := false
			hook := func(rev int) func(context.Context, *vnflcm.Operation) error {
				s := vnflcm.Step[string]{Name: "s", Rev: rev, Do: func(context.Context) (string, error) {
					calls, world = append(calls, "do"), true
					return "text", nil
				}}
				if c.probe {
					s.Probe = func(context.Context) (string, bool, error) {
						calls = append(calls, "probe")
						return "text", world, nil
					}
				}
				return func(ctx context.Context, op *vnflcm.Operation) error {
					if rev < 0 {
						_, err := vnflcm.Run(ctx, op, vnflcm.Step[int]{Name: "s", Do: func(context.Context) (int, error) {
							calls = append(calls, "do other")
							return 1, nil
						}})
						return errors.Join(err, errCut)
					}
					_, err := vnflcm.Run(ctx, op, s)
					return errors.Join(err, errCut)
				}
			}
			opID, _ := x.inHook("", hook(0))
			list, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "step", Prefix: opID + "/instantiate_end/s/"})
			must(t, err)
			if c.between != nil {
				c.between(x, list[0])
			}
			x.inHook(opID, hook(c.rev))
			if diff := cmp.Diff(c.want, calls); diff != "" {
				t.Errorf("calls:\n%s", diff)
			}
			again := len(calls)
			x.inHook(opID, hook(c.rev)) // the new entry has replaced the old one
			if len(calls) != again {
				t.Errorf("calls in the third run: %v", calls[again:])
			}
		})
	}
}

func damage(x *toys, r store.Record) {
	r.Body = []byte("damaged, and long enough to hold a nonce")
	must(x.t, x.cfg.Store.Apply(x.t.Context(), store.Batch{Put: []store.Record{r}}))
}

func TestStepMisuse(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context) (struct{}, error) { return struct{}{}, nil }
	run := func(ctx context.Context, op *vnflcm.Operation, name string) error {
		_, err := vnflcm.Run(ctx, op, vnflcm.Step[struct{}]{Name: name, Do: nothing})
		return err
	}
	result := func(v any) func(context.Context, *vnflcm.Operation) error {
		return func(ctx context.Context, op *vnflcm.Operation) error {
			_, err := vnflcm.Run(ctx, op, vnflcm.Step[any]{Name: "s", Do: func(context.Context) (any, error) { return v, nil }})
			return err
		}
	}
	secret := vnflcm.NewSecret("s3cret")
	for name, hook := range map[string]func(context.Context, *vnflcm.Operation) error{
		"duplicate": func(ctx context.Context, op *vnflcm.Operation) error {
			return errors.Join(run(ctx, op, "s"), run(ctx, op, "s"))
		},
		"nested": func(ctx context.Context, op *vnflcm.Operation) error {
			return vnflcm.Do(ctx, op, "outer", "", func(ctx context.Context) error { return run(ctx, op, "inner") })
		},
		"empty name":          func(ctx context.Context, op *vnflcm.Operation) error { return run(ctx, op, "") },
		"name with a slash":   func(ctx context.Context, op *vnflcm.Operation) error { return run(ctx, op, "a/b") },
		"name in capitals":    func(ctx context.Context, op *vnflcm.Operation) error { return run(ctx, op, "Join") },
		"secret":              result(secret),
		"secret in a struct":  result(clusterParams{Password: secret}),
		"secret in a map":     result(map[string]any{"a": []any{&secret}}),
		"params":              result(vnflcm.VimConnectionInfo{AccessInfo: params(t, `{"a":1}`)}),
		"no JSON":             result(func() {}),
		"JSON for one way":    oneWay,
		"secret typed result": typedSecret,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			_, err := x.inHook("", hook)
			wantIs(t, err, vnflcm.ErrProgramming)
		})
	}
}

type writeOnly struct{}

func (writeOnly) MarshalJSON() ([]byte, error)  { return []byte(`"x"`), nil }
func (*writeOnly) UnmarshalJSON(_ []byte) error { return errors.New("cannot be read") }

func oneWay(ctx context.Context, op *vnflcm.Operation) error {
	_, err := vnflcm.Run(ctx, op, vnflcm.Step[writeOnly]{Name: "s", Do: func(context.Context) (writeOnly, error) { return writeOnly{}, nil }})
	return err
}

func typedSecret(ctx context.Context, op *vnflcm.Operation) error {
	_, err := vnflcm.Run(ctx, op, vnflcm.Step[vnflcm.Secret]{Name: "s", Do: func(context.Context) (vnflcm.Secret, error) {
		return vnflcm.NewSecret("s3cret"), nil
	}})
	return err
}

// TestStepOn: a step is on the whole VNF, on a VNFC, or on an id that the driver has declared.
func TestStepOn(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context) error { return nil }
	for name, c := range map[string]struct {
		step, on string
		declared []string
		want     string // rule in the error
	}{
		"whole VNF":         {step: "install"},
		"VNFC":              {step: "install", on: "worker-0"},
		"declared":          {step: "install", on: "volume-1", declared: []string{"volume-0", "volume-1"}},
		"other declared":    {step: "install", on: "volume-2", declared: []string{"volume-0", "volume-1"}, want: `On is "volume-2", which is neither the id of a VNFC`},
		"name of a machine": {step: "install", on: "worker0", want: `On is "worker0", which is neither the id of a VNFC`},
		"swapped":           {step: "worker-0", on: "install", want: "name and On are swapped"},
		"swapped, declared": {step: "volume-0", on: "install", declared: []string{"volume-0"}, want: "name and On are swapped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			_, err := x.inHook("", func(ctx context.Context, op *vnflcm.Operation) error {
				op.Declare(c.declared...)
				return vnflcm.Do(ctx, op, c.step, c.on, nothing)
			})
			if c.want == "" {
				must(t, err)
				return
			}
			wantIs(t, err, vnflcm.ErrProgramming)
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestDeclaredInOnePhase: a declaration ends with its phase.
func TestDeclaredInOnePhase(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	hooks := vnflcm.Hooks{
		vnflcm.InstantiateEnd: func(_ context.Context, op *vnflcm.Operation) error { op.Declare("volume-0"); return nil },
		vnflcm.TerminateStart: func(ctx context.Context, op *vnflcm.Operation) error {
			return vnflcm.Do(ctx, op, "detach", "volume-0", func(context.Context) error { return nil })
		},
	}
	for name, hook := range (&cluster{world: x.world}).Hooks() {
		if hooks[name] == nil {
			hooks[name] = hook
		}
	}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
	x.start()
	id := x.create()
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	must(t, err)
	_, err = x.Wait(t.Context(), opID)
	must(t, err)
	opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	must(t, err)
	_, err = x.Wait(t.Context(), opID)
	wantIs(t, err, vnflcm.ErrProgramming)
}

func TestPlanAndValidateCannotAct(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Mgmt["cluster"] = actsInValidate{} })
	_, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	wantIs(t, err, vnflcm.ErrProgramming)
	if n := len(joinedErrors(err)); n != 5 {
		t.Errorf("%d of 5 acts were refused: %v", n, err)
	}
}

func joinedErrors(err error) []error {
	for err != nil {
		if j, ok := err.(interface{ Unwrap() []error }); ok && len(j.Unwrap()) > 1 {
			return j.Unwrap()
		} else if ok {
			err = j.Unwrap()[0]
			continue
		}
		err = errors.Unwrap(err)
	}
	return nil
}

type actsInValidate struct{}

func (actsInValidate) Hooks() vnflcm.Hooks { return (&cluster{}).Hooks() }
func (actsInValidate) Validate(ctx context.Context, op *vnflcm.Operation) error {
	return errors.Join(vnflcm.Do(ctx, op, "act", "", func(context.Context) error { return nil }), op.State().Put(ctx, "k", 1),
		op.State().Delete(ctx, "k"), op.RegisterVIM(ctx, vnflcm.VimConnectionInfo{VimID: "v", VimType: "t"}),
		op.Publish(ctx, vnflcm.VNFC{}, nil))
}

func TestInterceptorContract(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		intercept vnflcm.Interceptor
		want      error
	}{
		"passes over in silence": {func(context.Context, vnflcm.StepInfo, func(context.Context) error) error { return nil }, vnflcm.ErrProgramming},
		"refuses":                {func(context.Context, vnflcm.StepInfo, func(context.Context) error) error { return errCut }, errCut},
		"calls twice": {func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
			return errors.Join(next(ctx), next(ctx))
		}, vnflcm.ErrProgramming},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, func(cfg *vnflcm.Config) { cfg.Intercept = c.intercept })
			_, err := x.instantiate(x.create(), "plain", vnflcm.FailedTemp)
			wantIs(t, err, c.want)
		})
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	var got string
	var none error
	opID, err := x.inHook("", func(ctx context.Context, op *vnflcm.Operation) error {
		s := op.State()
		none = s.Get(ctx, "hostkey/vm1", &got)
		return errors.Join(s.Put(ctx, "hostkey/vm1", vnflcm.NewSecret("first")), s.Put(ctx, "hostkey/vm1", vnflcm.NewSecret("second")),
			s.Put(ctx, "gone", 1), s.Delete(ctx, "gone"), s.Delete(ctx, "never"))
	})
	must(t, err)
	wantIs(t, none, vnflcm.ErrNotFound)
	occ, err := x.Operation(t.Context(), opID)
	must(t, err)
	id := occ.VnfInstanceID

	var kept vnflcm.Secret
	hooks := (&cluster{world: x.world}).Hooks()
	hooks[vnflcm.TerminateStart] = func(ctx context.Context, op *vnflcm.Operation) error {
		return op.State().Get(ctx, "hostkey/vm1", &kept)
	}
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": hooked{hooks}}
	x.start()
	opID, err = scenarios[5].begin(x, id)
	x.wait(opID, err, vnflcm.Completed)
	if kept.Reveal() != "second" {
		t.Errorf("kept %q, want second", kept.Reveal())
	}
	list, err := x.cfg.Store.List(t.Context(), store.Query{Kind: "state"})
	if err != nil || len(list) > 0 {
		t.Errorf("%d records of state are left after terminate (%v)", len(list), err)
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	items := []int{0, 1, 2, 3, 4, 5, 6, 7}
	for limit, want := range map[int]int32{1: 1, 3: 3, 0: 8, -1: 8, 100: 8} {
		var now, most atomic.Int32
		arrived := make(chan struct{}, len(items))
		err := vnflcm.Each(t.Context(), limit, items, func(_ context.Context, i int) error {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			arrived <- struct{}{}
			if limit != 1 {
				<-arrived
			}
			return fmt.Errorf("item %d", i)
		})
		if got := most.Load(); got > want {
			t.Errorf("limit %d: %d at once", limit, got)
		}
		var texts []string
		for _, e := range joinedErrors(err) {
			texts = append(texts, e.Error())
		}
		if diff := cmp.Diff([]string{"item 0", "item 1", "item 2", "item 3", "item 4", "item 5", "item 6", "item 7"}, texts); diff != "" {
			t.Errorf("limit %d, errors:\n%s", limit, diff)
		}
	}
}

func TestEachStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	started := 0
	err := vnflcm.Each(ctx, 1, []int{0, 1, 2, 3}, func(context.Context, int) error {
		if started++; started == 2 {
			cancel(errCut)
		}
		return nil
	})
	wantIs(t, err, errCut)
	if started != 2 {
		t.Errorf("%d items were started, want 2", started)
	}
}
