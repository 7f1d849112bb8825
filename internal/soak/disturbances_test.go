package soak_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// attempt is one process that works on an operation, and meets a disturbance.
type attempt struct {
	*lab
	*process
	manager *vnflcm.Manager
	random  *rand.Rand
	begun   chan struct{} // closed when opID is known
	opID    string

	mu      sync.Mutex
	over    bool
	mending *time.Timer
}

// disturbance is a fault that an operation meets. What it changes on machines and clusters ends after a random time below
// mend, because a driver waits for a machine much longer than a case may take.
type disturbance struct {
	name string
	do   func(a *attempt)
	mend time.Duration // 0: it changes nothing there
	cuts bool          // uploads may leave temporary files, which the next upload to the same path removes
}

var disturbances = []disturbance{
	{"nothing", func(*attempt) {}, 0, false},
	{"the process is killed", func(a *attempt) { a.Die() }, 0, true},
	{"the process is stopped", func(a *attempt) { a.stop(a.upTo(time.Second)) }, 0, false},
	{"cancelled gracefully", cancel(vnflcm.CancelGraceful), 0, false},
	{"cancelled forcefully", cancel(vnflcm.CancelForceful), 0, false},
	{"all connections are cut", func(a *attempt) { a.network.cut() }, 0, true},
	{"a disk is full", onMachine(func(f *sshtest.Faults, r *rand.Rand) { f.DiskFull, f.DiskLeft = true, r.Int64N(4096) }, cnftest.Fault{
		Method: http.MethodPost, Code: http.StatusInternalServerError, Message: "etcdserver: mvcc: database space exceeded", Times: -1}), time.Second, false},
	{"a peer is slow", onMachine(func(f *sshtest.Faults, r *rand.Rand) { f.BytesPerSecond = 8<<10 + r.IntN(64<<10) }, cnftest.Fault{
		Delay: 200 * time.Millisecond, Times: 10}), time.Second, false},
	{"a peer is silent", onMachine(func(f *sshtest.Faults, r *rand.Rand) { f.StallAfter = 1 + r.Int64N(8192) }, cnftest.Fault{Drop: true, After: true, Times: 3}), time.Second, true},
	{"a peer takes no connections", onMachine(func(f *sshtest.Faults, _ *rand.Rand) { f.Refuse = true }, cnftest.Fault{Code: http.StatusServiceUnavailable, Times: 5}), time.Second, true},
	{"connections break after some bytes", onMachine(func(f *sshtest.Faults, r *rand.Rand) { f.CutAfter = 4096 + r.Int64N(64<<10) }, cnftest.Fault{Drop: true, Times: 5}), time.Second, true},
}

func (a *attempt) upTo(d time.Duration) time.Duration {
	return time.Duration(a.random.Int64N(int64(d)))
}

func cancel(mode vnflcm.CancelMode) func(*attempt) {
	return func(a *attempt) {
		go func() { _ = a.manager.Cancel(context.WithoutCancel(a.t.Context()), a.opID, mode) }() // it may have ended before
	}
}

// onMachine is what is wrong with one of the machines, chosen at random, or with the API of the cluster of a CNF.
func onMachine(machine func(*sshtest.Faults, *rand.Rand), api cnftest.Fault) func(*attempt) {
	return func(a *attempt) {
		if a.cluster != nil {
			a.cluster.Fail(api)
			return
		}
		hosts := a.living()
		if len(hosts) == 0 {
			return
		}
		var f sshtest.Faults
		machine(&f, a.random)
		hosts[a.random.IntN(len(hosts))].SetFaults(f)
	}
}
