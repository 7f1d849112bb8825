package kubespray

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// play is one run of a playbook in an operation.
type play struct {
	step     string // name of the step; unique in the phase
	playbook string
	limit    []mgmt.Node
	vars     map[string]any
}

// runsState is the prefix of the keys in the state of the instance that name runs which are, or may be, on the Ansible
// server.
const runsState = "kubespray/run/"

// run runs a playbook on the inventory, as a step. The server keeps a successful run until the end of the hook, so that a process that
// resumes finds its result, and a failed run until the next attempt.
func (d *deployment) run(ctx context.Context, p play) error {
	run := d.ansiblePlay(p)
	return vnflcm.Do(ctx, d.op, p.step, "", func(ctx context.Context) error {
		if err := d.op.State().Put(ctx, runsState+run.Name, run.Name); err != nil {
			return err
		}
		return mgmt.Within(ctx, d.config.Timeouts.Playbook, func(ctx context.Context) error {
			progress := &progress{op: d.op, playbook: path.Base(p.playbook), names: run.Names}
			if d.config.Output != nil {
				run.Output = d.config.Output(d.op, progress.playbook)
			}
			_, err := d.server.Run(ctx, run, func(e ansible.Event) { progress.observe(ctx, e) })
			progress.end(ctx)
			return err
		})
	})
}

// runForgetRuns removes the records of the hook's runs from the Ansible server. It comes last in the hook.
func runForgetRuns(ctx context.Context, d *deployment, _ mgmt.Node) error {
	err := mgmt.Within(ctx, d.config.Timeouts.Login, func(ctx context.Context) error { return d.forgetRuns(ctx, d.server) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		d.op.Log.WarnContext(ctx, "records of runs are left on the Ansible server until the next operation", "server", d.serverName(), "error", err)
	}
	return nil
}

// forgetRuns stops all runs of the instance that are still running, and removes all records of runs from the server.
func (d *deployment) forgetRuns(ctx context.Context, server ansible.Server) error {
	keys, err := d.op.State().Keys(ctx, runsState)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := server.Forget(ctx, strings.TrimPrefix(key, runsState)); err != nil {
			return err
		}
		if err := d.op.State().Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

func (d *deployment) ansiblePlay(p play) ansible.Play {
	a := ansible.Play{
		Name: fmt.Sprintf("kubespray/%s/%s/%s", d.op.ID, d.op.Phase(), p.step), Dir: d.p.Ansible.Root, Playbook: p.playbook,
		Inventory: []string{d.dir.inventory}, Vars: p.vars, Vault: d.p.Ansible.VaultPassword, Env: d.environment(p.step),
		Names: d.names(), Forks: d.config.Parallel, Again: true, Secrets: d.secrets(),
	}
	for _, n := range p.limit {
		a.Limit = append(a.Limit, n.HostName)
	}
	return a
}

// names returns the long names of the machines, by host of the inventory.
func (d *deployment) names() map[string]string {
	out := map[string]string{}
	for _, n := range slices.Concat(d.controlPlane, d.workers, d.balancers) {
		out[n.HostName] = n.String()
	}
	return out
}

// environment overrides settings of kubespray's ansible.cfg that are unsafe with several instances: it disables host key
// checking, keeps connections for half an hour, and caches facts in /tmp by host name alone, so that instances, or a
// machine and its replacement, would share them.
func (d *deployment) environment(step string) map[string]string {
	own := d.dir.own()
	env := map[string]string{
		"ANSIBLE_HOST_KEY_CHECKING":       "True",
		"ANSIBLE_CACHE_PLUGIN":            "jsonfile",
		"ANSIBLE_CACHE_PLUGIN_CONNECTION": own + "/facts",
		"ANSIBLE_LOG_PATH":                fmt.Sprintf("%s/logs/%s-%s-%s.log", own, d.op.ID, d.op.Phase(), step),
	}
	d.dir.sharing(env)
	return env
}

// secrets returns the texts that must be masked in all output.
func (d *deployment) secrets() (out []string) {
	for _, s := range []vnflcm.Secret{
		d.p.Master.Password, d.p.Master.BecomePassword, d.p.Master.PrivateKey, d.p.Master.Passphrase,
		d.p.Worker.Password, d.p.Worker.BecomePassword, d.p.Worker.PrivateKey, d.p.Worker.Passphrase,
		d.p.Proxy.HTTPProxy, d.p.Proxy.HTTPSProxy, d.p.Ansible.VaultPassword, d.p.Ansible.Password,
	} {
		if !s.IsZero() {
			out = append(out, s.Reveal())
		}
	}
	return out
}

// progress reports the plays and tasks of a run, with the number of hosts for each result of a task.
type progress struct {
	op       *vnflcm.Operation
	playbook string
	names    map[string]string // of machines, by host of the inventory

	mu    sync.Mutex
	task  string
	count map[ansible.EventKind]int
}

func (p *progress) observe(ctx context.Context, e ansible.Event) {
	switch e.Kind {
	case ansible.PlayStarted:
		p.end(ctx)
		p.op.Report(ctx, fmt.Sprintf("%s: play %s", p.playbook, e.Play))
	case ansible.TaskStarted:
		p.end(ctx)
		p.mu.Lock()
		p.task, p.count = e.Task, map[ansible.EventKind]int{}
		p.mu.Unlock()
	default:
		p.mu.Lock()
		if p.count != nil {
			p.count[e.Kind]++
		}
		p.mu.Unlock()
		if (e.Kind == ansible.HostFailed || e.Kind == ansible.Unreachable) && !e.Ignored {
			p.op.Report(ctx, fmt.Sprintf("%s: %s: %s: %s: %s", p.playbook, e.Task, cmp.Or(p.names[e.Host], e.Host), e.Kind, e.Message))
		}
	}
}

// end reports the results of the current task, which has ended.
func (p *progress) end(ctx context.Context) {
	p.mu.Lock()
	task, count := p.task, p.count
	p.task, p.count = "", nil
	p.mu.Unlock()
	if count == nil {
		return
	}
	p.op.Report(ctx, fmt.Sprintf("%s: task %s: %d ok, %d changed, %d skipped, %d failed, %d unreachable", p.playbook, task,
		count[ansible.HostOK], count[ansible.HostChanged], count[ansible.HostSkipped], count[ansible.HostFailed], count[ansible.Unreachable]))
}
