package infratest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRun: a driver without a bug passes, on a World that shows changes and on one that does not.
func TestRun(t *testing.T) {
	t.Parallel()
	Run(t, setup(""))
	t.Run("without changes", func(t *testing.T) {
		t.Parallel()
		Run(t, withoutChanges(setup("")))
	})
}

// withoutChanges returns the setup with Worlds that do not show changes.
func withoutChanges(s Setup) Setup {
	shown := s.Open
	s.Open = func(t testing.TB) World {
		t.Helper()
		w := shown(t)
		w.OnChange = nil
		return w
	}
	return s
}

// recorder keeps the errors of a test.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }

// errStop ends a test that has failed fatally.
var errStop = errors.New("stop")

func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); panic(errStop) }
func (r *recorder) Fatal(args ...any)                 { r.Error(args...); panic(errStop) }
func (r *recorder) Logf(string, ...any)               {}

// found runs a check of a driver with a bug and returns the errors.
func found(t *testing.T, check func(testing.TB, Setup), s Setup) []string {
	t.Helper()
	r := &recorder{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(errStop) {
				panic(p)
			}
		}()
		check(r, s)
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errors
}

// TestBugs: the tests find each bug.
func TestBugs(t *testing.T) {
	t.Parallel()
	byName := map[string]func(testing.TB, Setup){}
	for _, c := range checks {
		byName[c.name] = c.check
	}
	for bug, tc := range map[string]struct{ check, want string }{
		"Resources reports nothing":      {"life", "announced 1 new VNFCs of server, reported 0"},
		"Resources is another each time": {"life", "Resources gave another answer when it was repeated"},
		"a machine is not reported":      {"life", "the machines of the VIM (+) are not the foreign ones and those that the driver reports (-)"},
		"no ResourceID":                  {"life", "has no ResourceID"},
		"long ids":                       {"life", "more than 255"},
		"one id":                         {"repetition", "two VNFCs have the id server"},
		"a misspelt connection point":    {"life", `is reported with the connection point "sever_CP", VDU server has server_CP`},
		"Plan announces nothing":         {"life", "the VNFCs of the plan are not those of the scale levels"},
		"Plan announces another VDU":     {"life", `Plan announced a VNFC of VDU "sever", the flavour simple has server`},
		"Plan changes the VIM":           {"repetition", "Plan changed the VIM"},
		"Plan is another each time":      {"life", "Plan gave another answer when it was repeated"},
		"Plan removes a VNFC of others":  {"life", `Plan removes or replaces the VNFC "other", which the VNF does not have`},
		"Plan heals nothing":             {"life", "Plan replaces 0 VNFCs, and the request names 1"},
		"removes the oldest":             {"life", "as removed, reported it with the resource"},
		"Heal does nothing":              {"life", "has the same machine as before"},
		"Heal replaces all":              {"life", "has another machine, and the operation is not for it"},
		"Heal changes ids":               {"life", "as replaced, reported no VNFC with this id"},
		"a change of links replaces":     {"life", "change connectivity: the VNFC"},
		"removes by number":              {"life", "scale in: the machines of the VIM (+) are not the foreign ones"},
		"removes machines of others":     {"life", "the machines of the VIM (+) are not the foreign ones"},
		"leaves a machine":               {"life", "announced the removal of everything, reported"},
		"leaves volumes":                 {"life", "terminate: the VIM is not as before the VNFs"},
		"creates without a look":         {"repetition", "instantiate, repeated: instantiate: vnflcm: the answers of the infrastructure driver do not fit together: two VNFCs have the id"},
		"heals again":                    {"repetition", "heal one: the repeated method has changed the VIM"},
		"no steps":                       {"death", "instantiate: the driver runs no step, and the World has no OnChange"},
		"the memory of the process":      {"death", "two VNFCs have the id"},
		"a half heal is forgotten":       {"death", "heal one: the process died before change 2"},
		"steps without a context":        {"cancelled", "Instantiate has changed the VIM, with a context that had ended"},
		"the cause is dropped":           {"cancelled", "Instantiate returned it took too long, and neither the cause of a context that had ended nor context.Canceled"},
		"the wait ignores the context":   {"interrupted", "the operation has not ended within"},
		"errors of steps are dropped":    {"panic in a step", "instantiate: the operation should have failed"},
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			s := setup(bug)
			if strings.Contains(tc.want, "within") {
				s.patience = time.Second
			}
			if bug == "no steps" {
				s = withoutChanges(s)
			}
			errs := found(t, byName[tc.check], s)
			if !slices.ContainsFunc(errs, func(e string) bool { return strings.Contains(e, tc.want) }) {
				t.Errorf("%s: the errors are\n%s", tc.check, strings.Join(errs, "\n"))
			}
		})
	}
}
