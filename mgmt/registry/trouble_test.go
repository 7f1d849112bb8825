package registry_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// before has do called once, before a step begins.
func before(step string, do func()) func(*vnflcm.Config) {
	var once sync.Once
	return func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name == step {
				once.Do(do)
			}
			return next(ctx)
		}
	}
}

// TestTrouble: a failure on a machine is reported with its reason, and the operation continues after the cause is
// removed.
func TestTrouble(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup setup
		patch string
		step  string // before it ...
		do    func(l *lab)
		want  []string
		cure  func(l *lab) // nil: the request must be another
	}{
		"no Docker package": {setup: setup{sandbox: sandbox.Config{Missing: []string{"docker.io"}}}, want: []string{"packages on ", "Unable to locate package docker.io"}},
		"no Docker in the image": {patch: `{"packages":{"source":"installed"}}`,
			want: []string{"packages.source is installed, but the image of PrivateRegistryVDU-0 has no Docker"}},
		"another system": {step: "platform", do: func(l *lab) { l.put("/etc/os-release", "ID=fedora\nVERSION_ID=42\n") },
			want: []string{`the system of PrivateRegistryVDU-0 is "fedora 42"`, "packages.source installed"},
			cure: func(l *lab) { l.put("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n") }},
		"disk full": {step: "image", do: func(l *lab) { l.machine().SetFaults(sshtest.Faults{DiskFull: true}) },
			want: []string{"image on ", "image_path " + imageFile, "no space left on device"},
			cure: func(l *lab) { l.machine().SetFaults(sshtest.Faults{}) }},
		"no image": {setup: setup{files: map[string]string{imageFile: archive(t)}}, want: []string{"image_path " + imageFile, "has no image in it that Docker could load"}},
		"several images": {setup: setup{files: map[string]string{imageFile: archive(t, "web:1", "db:2")}},
			want: []string{"contains several images, and none of them is named registry: "}},
		"another program": {setup: setup{driver: impatient, files: map[string]string{imageFile: strings.ReplaceAll(archive(t, "web:1"), "/bin/registry", "/bin/somethin")}},
			want: []string{"ready on ", "198.18.0.10:5000 does not answer as it should: no success within 4s", "its container is restarting"}},
		"the public registry cannot be reached": {patch: `{"image_path":null}`, want: []string{"image on ", "registry-1.docker.io"}},
		"port taken": {step: "container", do: func(l *lab) { must(l.t, l.World.OccupyPort("PrivateRegistryVDU-0", 5000, true)) },
			want: []string{"container on ", "address already in use"},
			cure: func(l *lab) { must(l.t, l.World.OccupyPort("PrivateRegistryVDU-0", 5000, false)) }},
		"a key that is none": {setup: setup{driver: impatient}, patch: tlsOnly, step: "container", do: func(l *lab) { l.put("/etc/vnfkit/registry/tls.key", "broken") },
			want: []string{"ready on ", "its container is restarting (exit code 1, restarted", "and has said last: ", "failed to find any PEM data in key input"},
			cure: func(l *lab) { l.DropJournal() }},
		"reboot": {step: "container", do: func(l *lab) { must(l.t, l.machine().Reboot()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.setup)
			m := l.Manager
			if c.do != nil {
				m = l.Process(before(c.step, func() { c.do(l) }))
			}
			id := l.Created()
			patch := c.patch
			if patch == "" {
				patch = `{}`
			}
			opID, err := m.Instantiate(t.Context(), id, l.Request("instantiate.json", with(t, patch)))
			_, err = l.End(opID, err, m)
			for _, part := range c.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			if c.cure != nil {
				c.cure(l)
				must(t, m.Retry(t.Context(), opID))
				_, err = l.End(opID, nil, m)
			}
			if c.want == nil || c.cure != nil {
				must(t, err)
				must(t, l.push(l.connection(id), "team/web:1"))
			}
		})
	}
}

// TestWrongPassword: a machine that refuses the password is given up after Timeouts.Login, long before Timeouts.Boot.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{driver: registry.Config{Timeouts: registry.Timeouts{Login: 3 * time.Second}}})
	_, opID, err := l.Begin("instantiate.json", with(t, `{"ssh_password":"wrong"}`))
	if err := l.Fails(opID, err); !errors.Is(err, sshexec.ErrAuth) || strings.Contains(err.Error(), "no success within") {
		t.Errorf("the error is %v", err)
	}
}

// TestDockerFlood: a docker that prints without end fails the step with an error that names the bound.
func TestDockerFlood(t *testing.T) {
	t.Parallel()
	var printed atomic.Int64
	docker := func(ctx context.Context, p *sshtest.Process) int {
		for block := []byte(strings.Repeat("flood ", 8<<10)); ctx.Err() == nil && printed.Load() < 256<<20; printed.Add(int64(len(block))) {
			if _, err := p.Stdout.Write(block); err != nil {
				break
			}
		}
		return 0
	}
	l := newLab(t, setup{sandbox: sandbox.Config{Commands: map[string]sshtest.Command{"docker": docker}}})
	_, opID, err := l.Begin("instantiate_pull.json")
	if err = l.Fails(opID, err); !errors.Is(err, sshexec.ErrTooLarge) || len(err.Error()) > 4<<10 {
		t.Errorf("%.300v, %d bytes", err, len(err.Error()))
	}
	if n := printed.Load(); n > 16<<20 {
		t.Errorf("%d MiB were read", n>>20)
	}
}

// TestOneName checks that an operation that fails on the machine gives it one name.
func TestOneName(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{})
	m := l.Process(before("container", func() { must(t, l.World.OccupyPort("PrivateRegistryVDU-0", 5000, true)) }))
	l.CheckNames("PrivateRegistryVDU-0", l.Request("instantiate.json"), m)
}
