package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/programs"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// slow is how long the slow programs take, so that there is a middle to be killed in.
const slow = 700 * time.Millisecond

// TestManagerDiesAndResumes: a Manager dies while a program runs on a real host. The store refuses it from
// then on, its connections break, and what it started runs on, as on real machines. The next one finishes.
func TestManagerDiesAndResumes(t *testing.T) {
	for _, c := range []struct {
		name     string
		flavour  string
		request  string
		masters  int
		role     string // dies when on such a machine
		programs string // a program begins that has these words
	}{
		{"packages", "simple", "instantiate_sandbox.json", 1, "masternode", "apt-get install"},
		{"init", "simple", "instantiate_sandbox.json", 1, "masternode", "kubeadm init --config"},
		{"join of a worker", "simple", "instantiate_sandbox.json", 1, "workernode", "kubeadm join"},
		{"join of a control-plane node", "complex", "instantiate_sandbox.json", 3, "masternode", "kubeadm join"},
		{"script, join of a worker", "simple", "instantiate_script.json", 1, "workernode", "kubeadm join"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			l := newLab(t, labConfig{takes: slow})
			id, request := l.created(c.request, c.flavour)
			must(t, l.close()) // it would take the operation over
			store := &storetest.Fence{Store: l.store}
			first := l.start(store)
			running := l.watch(c.role, c.programs)
			opID, err := first.Instantiate(ctx, id, request)
			if err != nil {
				t.Fatal(err)
			}
			where := awaitProgram(t, running)
			store.Cut(true)
			if err := first.close(); err != nil {
				t.Fatal(err)
			}
			t.Logf("died when %q began on %s", c.programs, where.Host)

			l.resume(opID)
			l.wantOneInit()
			l.want(count{c.masters, 1, 0})
			l.checkFiles(false)
			l.must(l.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			l.wantNothing(id)
			l.checkSecrets()
		})
	}
}

// watch tells of the programs of that name, the first of the words, that have the other words among their arguments,
// on machines whose name begins with role, from now on.
func (l *lab) watch(role, words string) <-chan programs.Record {
	running := make(chan programs.Record, 100)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = func(r programs.Record) {
		wanted := strings.Fields(words)
		lacks := func(word string) bool { return !slices.Contains(r.Argv, word) }
		if strings.HasPrefix(r.Host, role) && r.Argv[0] == wanted[0] && !slices.ContainsFunc(wanted, lacks) {
			running <- r
		}
	}
	return running
}

func awaitProgram(t *testing.T, running <-chan programs.Record) programs.Record {
	t.Helper()
	select {
	case r := <-running:
		return r
	case <-within(t, time.Minute).Done():
		t.Fatal("the program was not called")
	}
	return programs.Record{}
}

// resume starts a process that takes the operation of the dead one over at once, and waits for its end.
func (l *lab) resume(opID string) {
	l.t.Helper()
	must(l.t, bury(l.t.Context(), l.store))
	l.process = l.start(l.store)
	l.must(opID, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.events, func(e vnflcm.Event) bool { return e.Kind == vnflcm.OperationTaken && e.OperationID == opID }) {
		l.t.Error("the operation was not taken over")
	}
}

// wantOneInit checks that no second cluster was begun.
func (l *lab) wantOneInit() {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, r := range l.records {
		if strings.HasPrefix(strings.Join(r.Argv, " "), "kubeadm init --") {
			n++
		}
	}
	if n != 1 {
		l.t.Errorf("kubeadm init ran %d times", n)
	}
}
