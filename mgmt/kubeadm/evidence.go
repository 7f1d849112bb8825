package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/evidence"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// This file adds evidence to the errors of tasks, and keeps it with the operation.

const (
	// gatherLimit and evidenceLimit bound for how long evidence delays a failure: to read it, and to read and store it. A command that is
	// ended when the time is up takes a second more.
	gatherLimit   = 15 * time.Second
	evidenceLimit = 20 * time.Second
	// mostWitnesses is from how many machines evidence is read after the failure of a task for the whole cluster.
	mostWitnesses = 3
	// summaryLimit and summariesLimit bound the evidence in the error of one task, and in all errors of a phase, in bytes: an
	// operation keeps 32 KiB of its error.
	summaryLimit   = 10 << 10
	summariesLimit = 20 << 10
)

// explained are the tasks whose failure the machine or the cluster explains. The names of their steps, and of such steps in an upgrade, begin
// so.
var explained = []string{"init", "join", "network", "ready", "registries", "images", "members", "drain", "detach", "etcd-first", "control-plane", "kubelet", "node",
	"static-pods", "addons", "restart", "start", "await-etcd", "stop-api-server", "snapshot", "restore", "delete-lost-nodes"}

// witnesses has what evidence of earlier failures of this phase has found.
type witnesses struct {
	mu    sync.Mutex
	dead  map[string]bool // machines that have not answered are not asked again
	shown int             // bytes of evidence in errors
}

var _ plan.Witness = (*environment)(nil)

// Failed implements plan.Witness.
func (e *environment) Failed(ctx context.Context, task string, n mgmt.Node, err error) error {
	begins := func(name string) bool { return task == name || strings.HasPrefix(task, name+"-") }
	if ctx.Err() != nil || e.broken != nil || !slices.ContainsFunc(explained, begins) {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, evidenceLimit)
	defer cancel()
	machines := e.witnessesOf(limited, n)
	found := make([]string, len(machines))
	_ = fanout.Each(limited, len(machines), 0, func(i int) error {
		found[i] = e.explain(limited, task, machines[i], err)
		return nil
	})
	found = slices.DeleteFunc(found, func(text string) bool { return text == "" })
	if len(found) == 0 || ctx.Err() != nil {
		return err
	}
	return errors.Join(err, errors.New(strings.Join(found, "\n")))
}

// witnessesOf returns the machines that evidence is read from: that of the task or, for the whole cluster, those that are not Ready, the
// zero Node if there are none.
func (e *environment) witnessesOf(ctx context.Context, n mgmt.Node) []mgmt.Node {
	if n.ID != "" {
		return []mgmt.Node{n}
	}
	limited, cancel := context.WithTimeout(ctx, gatherLimit/3)
	defer cancel()
	ready := map[netip.Addr]bool{}
	nodes, err := e.kube.Nodes(limited)
	for _, node := range nodes {
		ready[node.Address] = node.Ready
	}
	out := slices.DeleteFunc(e.nodes(), func(n mgmt.Node) bool { return ready[n.IP] })
	if err != nil || len(out) == 0 {
		return []mgmt.Node{n}
	}
	return out[:min(len(out), mostWitnesses)]
}

// explain reads evidence, keeps it with the operation, and returns what of it belongs into the error of the task.
func (e *environment) explain(ctx context.Context, task string, n mgmt.Node, failure error) string {
	files := append(evidence.Program(failure), e.gather(ctx, n)...)
	if len(files) == 0 {
		return ""
	}
	kept := vnflcm.Evidence{Step: task, On: n.ID, Files: []vnflcm.EvidenceFile{{Name: "error", Content: failure.Error()}}}
	for _, f := range files {
		kept.Files = append(kept.Files, vnflcm.EvidenceFile{Name: f.Name, Content: f.Text})
	}
	if err := e.op.KeepEvidence(ctx, kept); err != nil && ctx.Err() == nil {
		e.op.Log.WarnContext(ctx, "evidence is not kept", "step", task, "error", err)
	}
	e.witnesses.mu.Lock()
	defer e.witnesses.mu.Unlock()
	room := min(summaryLimit, summariesLimit-e.witnesses.shown)
	if room <= 0 {
		return ""
	}
	text := evidence.Summary(files, room)
	e.witnesses.shown += len(text)
	if text == "" {
		return ""
	}
	about := "the cluster"
	if n.ID != "" {
		about = n.Label()
	}
	return fmt.Sprintf("evidence of %s after %s:\n%s", about, task, text)
}

// gather asks the machine and the API at the same time.
func (e *environment) gather(ctx context.Context, n mgmt.Node) []evidence.File {
	limited, cancel := context.WithTimeout(ctx, gatherLimit)
	defer cancel()
	var files, events []evidence.File
	var asking sync.WaitGroup
	asking.Go(func() { events = e.events(limited, n) })
	if n.ID != "" && !e.witnesses.isDead(n) {
		var err error
		if files, err = evidence.Gather(limited, n); errors.Is(err, sshexec.ErrConnect) {
			e.witnesses.bury(n)
			files = append(files, evidence.File{Name: "machine", Text: err.Error(), Last: 1})
		}
	}
	asking.Wait()
	return append(files, events...)
}

// events returns the warnings about the node, and about its pods. A cluster that does not answer has none.
func (e *environment) events(ctx context.Context, n mgmt.Node) []evidence.File {
	list, err := e.kube.Warnings(ctx, n.IP)
	if err != nil || len(list) == 0 {
		return nil
	}
	var text strings.Builder
	for _, event := range list {
		fmt.Fprintln(&text, event)
	}
	return []evidence.File{{Name: "events", Text: evidence.End(text.String()), Last: evidence.Lines}}
}

func (w *witnesses) isDead(n mgmt.Node) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead[n.ID]
}

func (w *witnesses) bury(n mgmt.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead == nil {
		w.dead = map[string]bool{}
	}
	w.dead[n.ID] = true
}
