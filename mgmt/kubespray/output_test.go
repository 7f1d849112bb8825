package kubespray_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store/storetest"
)

// outputs records what the runs of a driver print.
type outputs struct {
	mu   sync.Mutex
	runs []*output
}

type output struct {
	playbook string
	mu       sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

func (o *outputs) of(op *vnflcm.Operation, playbook string) io.Writer {
	o.mu.Lock()
	defer o.mu.Unlock()
	run := &output{playbook: string(op.Kind) + " " + playbook}
	o.runs = append(o.runs, run)
	return run
}

func (o *outputs) playbooks() (names []string) {
	for _, run := range o.runs {
		names = append(names, run.playbook)
	}
	return names
}

// TestOutput checks that the writers of Config.Output receive everything that each run prints, without secrets.
func TestOutput(t *testing.T) {
	t.Parallel()
	var all outputs
	l := openLab(t, setup{sandbox: sandbox.Config{Password: "canary-node"}, driver: kubespray.Config{Output: all.of}})
	id := l.Instantiated(sample, with(t, `{"master_node":{"password":"canary-node"},"worker_node":{"password":"canary-node"},"external_lb_param":{"ssh_password":"canary-node"},
		"ansible":{"vault_password":"canary-vault"}}`))
	l.scaleOut(id)
	if diff := cmp.Diff([]string{"INSTANTIATE cluster.yml", "SCALE facts.yml", "SCALE scale.yml"}, all.playbooks()); diff != "" {
		t.Error(diff)
	}
	for _, run := range all.runs {
		text := run.String()
		if !strings.Contains(text, "Gather minimal facts") || !strings.Contains(text, "v2_playbook_on_stats") || strings.Contains(text, "canary") {
			t.Errorf("%s:\n%s", run.playbook, text)
		}
	}
}

var errNoRoom = errors.New("no room")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errNoRoom }

// TestOutputIsNoConcern checks that a run succeeds if its output is discarded or cannot be written.
func TestOutputIsNoConcern(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]io.Writer{"discarded": nil, "full": full{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{driver: kubespray.Config{Output: func(*vnflcm.Operation, string) io.Writer { return w }}})
			l.Instantiated(sample)
		})
	}
}

// TestOutputAfterResume checks that the process that resumes an operation gets the output of the run from its beginning.
func TestOutputAfterResume(t *testing.T) {
	t.Parallel()
	var all outputs
	l := openLab(t, setup{driver: kubespray.Config{Output: all.of}})
	fence := &storetest.Fence{Store: l.Store}
	first := l.Process(func(c *vnflcm.Config) { c.Store = fence })
	gone := make(chan struct{})
	l.during(func() {
		fence.Cut(true)
		go func() { _ = first.Close(t.Context()); close(gone) }()
		<-gone
	})
	opID, err := first.Instantiate(t.Context(), l.Created(), l.Request(sample))
	if err != nil {
		t.Fatal(err)
	}
	<-gone
	l.Must(opID, nil, l.Manager)
	if want := []string{"INSTANTIATE cluster.yml", "INSTANTIATE cluster.yml"}; !slices.Equal(all.playbooks(), want) {
		t.Fatalf("%q", all.playbooks())
	}
	if text := all.runs[1].String(); !strings.HasPrefix(text, all.runs[0].String()) || !strings.Contains(text, "Check Ansible version") || !strings.Contains(text, "v2_playbook_on_stats") {
		t.Errorf("it is not the whole:\n%s\nbefore:\n%s", text, all.runs[0].String())
	}
}
