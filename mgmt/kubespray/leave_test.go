package kubespray_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// during calls fn when cluster.yml begins. The playbook waits until fn returns.
func (l *lab) during(fn func()) {
	var once sync.Once
	l.server().OnCommand(func(r sshtest.Record) {
		if r.Argv[0] == "ansible-playbook" && strings.HasSuffix(r.Argv[len(r.Argv)-1], "/cluster.yml") {
			once.Do(fn)
		}
	})
}

// TestLeftRunning checks that a process that loses the store or the lease, or is shut down, leaves the playbook running,
// that the next process follows the same run, and that no playbook is started twice.
func TestLeftRunning(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second // a process that has lost the store ends its work after 7/8 of the TTL
	for name, leave := range map[string]func(context.Context, *storetest.Fence, *vnflcm.Manager) error{
		"store lost": func(_ context.Context, f *storetest.Fence, _ *vnflcm.Manager) error { f.Cut(true); return nil },
		"shutdown":   func(ctx context.Context, _ *storetest.Fence, m *vnflcm.Manager) error { return m.Close(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			fence := &storetest.Fence{Store: l.Store}
			first := l.Process(func(c *vnflcm.Config) { c.Store, c.LeaseTTL = fence, ttl })
			begun, gone, left := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			l.during(func() {
				close(begun)
				left <- leave(t.Context(), fence, first)
				<-gone
			})
			opID, err := first.Instantiate(t.Context(), l.Created(), l.Request(sample))
			if err != nil {
				t.Fatal(err)
			}
			_, err = first.Wait(t.Context(), opID)
			close(gone)
			if err == nil {
				t.Fatal("it has ended well")
			}
			select {
			case <-begun:
			default:
				t.Fatalf("it has ended before the playbook began: %v", err)
			}
			if err := <-left; err != nil {
				t.Fatal(err)
			}
			l.Must(opID, nil, l.Process())
			l.onlyOnce(0)
			if n := len(l.runs()); n != 1 {
				t.Errorf("%d runs", n)
			}
		})
	}
}

// TestCancelStops checks that cancelling an operation stops its playbook.
func TestCancelStops(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: time.Minute}})
	ids, cancelled := make(chan string, 1), make(chan error, 1)
	l.during(func() { go func() { cancelled <- l.Cancel(t.Context(), <-ids, vnflcm.CancelForceful) }() })
	_, opID, err := l.Begin(sample)
	ids <- opID
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "cluster.yml on Ansible server 10.9.0.1:22 was stopped") {
		t.Errorf("the error is %v", err)
	}
	if err := <-cancelled; err != nil {
		t.Error(err)
	}
	l.RollBack(opID)
}
