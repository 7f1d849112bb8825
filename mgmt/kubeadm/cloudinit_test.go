package kubeadm_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// cloudInit simulates cloud-init on every machine. It writes the package sources after the first login is possible, and
// finishes with a recoverable error.
type cloudInit struct {
	mu   sync.Mutex
	done map[string]chan struct{} // by machine
}

func (c *cloudInit) on(machine string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = map[string]chan struct{}{}
	}
	if c.done[machine] == nil {
		c.done[machine] = make(chan struct{})
	}
	return c.done[machine]
}

func (c *cloudInit) status(ctx context.Context, p *sshtest.Process) int {
	select {
	case <-c.on(p.Host):
	case <-ctx.Done():
		return 143
	}
	const result = "/run/cloud-init/result.json"
	if err := errors.Join(p.FS.MkdirAll(path.Dir(result), 0o755), afero.WriteFile(p.FS, result, nil, 0o644)); err != nil {
		return 1
	}
	_, _ = fmt.Fprint(p.Stdout, "\nstatus: done\nextended_status: degraded done\nerrors: []\nrecoverable_errors:\nWARNING:\n\t- Failed to resize the root file system\n")
	return 2
}

// late makes machines start without package sources.
func (c *cloudInit) late(l *lab) func(*vnflcm.Config) {
	const sources = "/etc/apt/sources.list.d/kubernetes.list"
	return func(cfg *vnflcm.Config) {
		cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name == "reach" {
				host := l.host(l.NameOf(s.On))
				text, err := afero.ReadFile(host.FS(), sources)
				if err == nil {
					err = host.FS().Remove(sources)
				}
				if err != nil {
					return err
				}
				time.AfterFunc(50*time.Millisecond, func() {
					if err := afero.WriteFile(host.FS(), sources, text, 0o644); err != nil {
						l.t.Error(err)
					}
					close(c.on(host.Name()))
				})
			}
			return next(ctx)
		}
	}
}

// TestCloudInit checks that machines are prepared after cloud-init has finished, and that errors of cloud-init are logged.
func TestCloudInit(t *testing.T) {
	t.Parallel()
	c := new(cloudInit)
	l := openLab(t, setup{sandbox: sandbox.Config{Commands: map[string]sshtest.Command{"cloud-init": c.status}}})
	m := l.Process(c.late(l))
	opID, err := l.instantiateBy(m)
	l.Must(opID, err, m)
	l.want(1, 1, 0)
	if n := strings.Count(l.Log(), "Failed to resize the root file system"); n != 2 {
		t.Errorf("%d of 2 machines are warned of", n)
	}
	for _, host := range l.World.Hosts() {
		var finished time.Time
		for _, r := range host.Commands() {
			switch {
			case r.Argv[0] == "cloud-init":
				finished = r.End
			case r.Argv[0] == "apt-get" && (finished.IsZero() || r.Start.Before(finished)):
				t.Errorf("%s: apt-get has run before cloud-init had finished", host.Name())
			}
		}
	}
}

// TestManagedHosts: if cloud-init writes /etc/hosts at every start, the driver writes the names of the nodes into its
// template. A machine without a template is refused.
func TestManagedHosts(t *testing.T) {
	t.Parallel()
	const (
		template = "/etc/cloud/templates/hosts.debian.tmpl"
		managed  = "sudo mkdir -p /etc/cloud/templates; echo 'manage_etc_hosts: true' | sudo tee /etc/cloud/cloud.cfg >/dev/null; "
	)
	t.Run("with a template", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		m := l.Process(l.machines(managed + "printf '## template:jinja\\n127.0.1.1 {{fqdn}} {{hostname}}\\n' | sudo tee " + template + " >/dev/null"))
		id := l.Created()
		opID, err := m.Instantiate(t.Context(), id, l.Request("instantiate_sandbox.json", clustertest.Sized("simple", 0)))
		l.Must(opID, err, m)
		opID, err = m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
		l.Must(opID, err, m)
		for _, machine := range []string{"masterNode-0", "workerNode-0", "workerNode-1"} {
			_, names, _ := strings.Cut(l.file(machine, "/etc/hosts"), "# BEGIN vnfkit\n")
			if want := "## template:jinja\n127.0.1.1 {{fqdn}} {{hostname}}\n# BEGIN vnfkit\n" + names; l.file(machine, template) != want || strings.Count(names, "\n") != 4 {
				t.Errorf("%s: %q", machine, l.file(machine, template))
			}
		}
	})
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		m := l.Process(l.machines(managed))
		opID, err := l.instantiateBy(m)
		if err := l.Fails(opID, err, m); !strings.Contains(err.Error(), "manage_etc_hosts") || !strings.Contains(err.Error(), template) {
			t.Errorf("%v", err)
		}
	})
}
