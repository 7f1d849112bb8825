package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// BenchmarkHundredHosts: a command on each of a hundred hosts, with the logins, and further ones on the open
// connections, beside ansible -m raw with the same hosts, key and limit. Reported are CPU time of this side and
// wall time per command on all hosts; wall time is mostly that of the servers, which are on this machine, too.
func BenchmarkHundredHosts(b *testing.B) {
	needSite(b)
	const limit, more = 20, 10
	key := keygen(b, b.TempDir(), "key", "", "-t", "ed25519")
	machines := newHosts(b, 100, vmhost.Spec{AuthorizedKeys: []string{string(read(b, key+".pub"))}})
	raw := newAnsible(b, machines, key, limit)
	for b.Loop() {
		pool := sshexec.NewPool(sshexec.Options{})
		var hosts []*sshexec.Host
		for _, m := range machines {
			target := targetOf(b, m)
			target.Auth = []sshexec.Auth{privateKey(b, key)}
			hosts = append(hosts, pool.Host(target))
		}
		each := func() {
			must(b, sshexec.Each(within(b, time.Minute), sshexec.Fan{Limit: limit}, hosts, func(ctx context.Context, h *sshexec.Host) error {
				return h.Run(ctx, []string{"true"}, nil, nil, nil)
			}))
		}
		first := measure(each)
		again := measure(func() {
			for range more {
				each()
			}
		})
		must(b, pool.Close())
		first.report(b, "first", 1)
		again.report(b, "again", more)
		if raw == nil {
			b.Log("ansible is not installed: nothing to compare with")
			continue
		}
		theirs := raw.run(b)
		theirs.report(b, "ansible-first", 1)
		b.ReportMetric(float64(theirs.cpu)/float64(first.cpu), "first-cpu-ratio")
		theirs = raw.run(b)
		theirs.report(b, "ansible-again", 1)
		b.ReportMetric(float64(theirs.cpu)*more/float64(again.cpu), "again-cpu-ratio")
	}
}

// cost is what something took.
type cost struct{ cpu, wall time.Duration }

func (c cost) report(b *testing.B, name string, commands float64) {
	b.Helper()
	b.ReportMetric(c.cpu.Seconds()/commands, name+"-cpu-s")
	b.ReportMetric(c.wall.Seconds()/commands, name+"-wall-s")
}

// measure tells what this process needs for something.
func measure(do func()) cost {
	cpu, begin := ownCPU(), time.Now()
	do()
	return cost{ownCPU() - cpu, time.Since(begin)}
}

func ownCPU() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// ansible is what runs ansible -m raw.
type ansible struct {
	args, env []string
}

// newAnsible returns nil when there is no Ansible.
func newAnsible(b *testing.B, machines []*vmhost.Host, key string, limit int) *ansible {
	b.Helper()
	if _, err := exec.LookPath("ansible"); err != nil {
		return nil
	}
	dir := b.TempDir()
	var inventory strings.Builder
	for _, m := range machines {
		fmt.Fprintf(&inventory, "%s ansible_host=%s ansible_user=%s ansible_ssh_private_key_file=%s\n", m.Name, m.Address, user, key)
	}
	hosts := filepath.Join(dir, "hosts")
	must(b, os.WriteFile(hosts, []byte(inventory.String()), 0o600))
	control, err := os.MkdirTemp("", "cp") //nolint:usetesting // short: the name of a socket is bounded
	must(b, err)
	b.Cleanup(func() {
		for _, m := range machines { // its connections stay open for a minute otherwise
			_ = m.Kill()
		}
		_ = os.RemoveAll(control)
	})
	return &ansible{args: []string{"-i", hosts, "-f", fmt.Sprint(limit), "-m", "raw", "-a", "true", "all"},
		env: append(os.Environ(), "ANSIBLE_HOST_KEY_CHECKING=False", "ANSIBLE_SSH_CONTROL_PATH_DIR="+control, "ANSIBLE_NOCOLOR=1", "LC_ALL=C.UTF-8")}
}

func (a *ansible) run(b *testing.B) cost {
	b.Helper()
	begin := time.Now()
	cmd := exec.CommandContext(within(b, 5*time.Minute), "ansible", a.args...) //nolint:gosec // our own arguments
	cmd.Env = a.env
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("ansible: %v\n%s", err, out)
	}
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(begin)}
}
