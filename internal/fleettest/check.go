package fleettest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// CheckLog reads what the processes with that folder wrote at the beginning of each Do. Of one version of a claim only one process may
// write, and no step may begin whose result is in the journal. A Do in the middle of which its process was stopped has begun
// before and only counts as repeated.
func CheckLog(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	owner, begun := map[string]string{}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line) // process, operation, version of the claim, whether the journal has it, key
		begun[f[4]]++
		if f[3] == "stopped" {
			continue
		}
		epoch := f[1] + "/" + f[2]
		if was := owner[epoch]; was != "" && was != f[0] {
			t.Errorf("the processes %s and %s began steps under the claim %s", was, f[0], epoch)
		}
		owner[epoch] = f[0]
		if f[3] == "journaled" {
			t.Errorf("%s began %s, whose result was in the journal", f[0], f[4])
		}
	}
	repeated := 0
	for _, n := range begun {
		repeated += n - 1
	}
	t.Logf("%d steps, %d of them cut or stopped in the middle and repeated", len(begun), repeated)
}

// Began reports whether a process has begun a step.
func Began(dir, process string) bool {
	data, _ := os.ReadFile(filepath.Join(dir, "log"))
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, process+" ") {
			return true
		}
	}
	return false
}

// AcceptMany makes n instances and begins to instantiate them, in that time. What fails while the server restarts is asked
// again, unless the request was accepted nevertheless.
func AcceptMany(t *testing.T, api *vnflcm.Manager, n int, during time.Duration) map[string]bool {
	t.Helper()
	accepted := map[string]bool{}
	retry := func(do func() error) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		err := do()
		for ; errors.Is(err, vnflcm.ErrStore) && time.Now().Before(deadline); err = do() {
			time.Sleep(5 * time.Millisecond)
		}
		if err != nil {
			t.Errorf("a request was refused: %v", err)
		}
	}
	every := time.NewTicker(during / time.Duration(n))
	defer every.Stop()
	for range n {
		var id string
		retry(func() error {
			inst, err := api.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: VNFD})
			if err == nil {
				id = inst.ID
			}
			return err
		})
		retry(func() error {
			_, err := Instantiate(t.Context(), api, id)
			if errors.Is(err, vnflcm.ErrConflict) || errors.Is(err, vnflcm.ErrState) {
				return nil // it was accepted, but the answer was lost
			}
			return err
		})
		accepted[id] = true
		<-every.C
	}
	return accepted
}

// CheckFeed checks that the feed tells each operation once in each state, in order.
func CheckFeed(t *testing.T, api *vnflcm.Manager, accepted map[string]bool) {
	t.Helper()
	states := map[string][]vnflcm.OperationState{}
	for after := vnflcm.Cursor(""); ; {
		list, next, err := api.Changes(t.Context(), after, 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.Operation != nil && accepted[c.VNF.InstanceID] {
				states[c.VNF.InstanceID] = append(states[c.VNF.InstanceID], c.Operation.OperationState)
			}
		}
		if after = next; len(list) == 0 {
			break
		}
	}
	want := fmt.Sprint([]vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.Completed})
	for id := range accepted {
		if got := fmt.Sprint(states[id]); got != want {
			t.Errorf("the operation of instance %s was in the states %s, want %s", id, got, want)
		}
	}
}
