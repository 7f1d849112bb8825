package linux_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// machine is a simulated host with these files and programs.
func machine(t *testing.T, content map[string]string, commands map[string]sshtest.Command) (linux.Machine, *sshtest.Host) {
	t.Helper()
	host, err := sshtest.New(sshtest.Config{Commands: commands})
	if err != nil {
		t.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{})
	t.Cleanup(func() {
		if err := errors.Join(pool.Close(), host.Close()); err != nil {
			t.Error(err)
		}
	})
	for name, text := range content {
		if err := errors.Join(host.FS().MkdirAll(path.Dir(name), 0o755), afero.WriteFile(host.FS(), name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return linux.On(pool.Host(sshexec.Target{Addr: host.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")},
		HostKeys: sshexec.InsecureIgnoreHostKeys()})), host
}

// What cloud-init 24.4 prints.
const (
	done     = "...\nstatus: done\nextended_status: done\nboot_status_code: enabled-by-generator\ndetail: DataSourceOpenStack\nerrors: []\nrecoverable_errors: {}\n"
	degraded = "\nstatus: done\nextended_status: degraded done\ndetail: DataSourceOpenStack\nerrors: []\nrecoverable_errors:\nWARNING:\n\t- Failed to set the hostname\n"
	failed   = "..\nstatus: error\nextended_status: error - done\ndetail: DataSourceOpenStack\nerrors:\n\t- ('package_update_upgrade_install', ProcessExecutionError())\nrecoverable_errors: {}\n"
	running  = "status: running\nextended_status: running\ndetail: Running in stage: modules-config\nerrors: []\nrecoverable_errors: {}\n"
)

// TestAwaitBoot waits for cloud-init where the image has it, and passes on what cloud-init reports of errors.
func TestAwaitBoot(t *testing.T) {
	t.Parallel()
	const result = "/run/cloud-init/result.json"
	ends := func(code int, text string) func(context.Context, *sshtest.Process) int {
		return func(_ context.Context, p *sshtest.Process) int {
			_, _ = fmt.Fprint(p.Stdout, text)
			return code
		}
	}
	// With an error cloud-init 22.4 does not wait for its end.
	hurries := func(code int, early, last string) func(context.Context, *sshtest.Process) int {
		var once sync.Once
		return func(ctx context.Context, p *sshtest.Process) int {
			once.Do(func() {
				time.AfterFunc(300*time.Millisecond, func() {
					if err := errors.Join(p.FS.MkdirAll(path.Dir(result), 0o755), afero.WriteFile(p.FS, result, nil, 0o644)); err != nil {
						t.Error(err)
					}
				})
			})
			if finished, _ := afero.Exists(p.FS, result); finished {
				early = last
			}
			return ends(code, early)(ctx, p)
		}
	}
	for _, c := range []struct {
		name      string
		status    sshtest.Command // nil: no cloud-init
		limit     time.Duration
		want, err string
	}{
		{name: "without cloud-init"},
		{name: "done", status: ends(0, done)},
		{name: "disabled", status: ends(0, "\nstatus: disabled\ndetail: Cloud-init disabled by cloud-init-generator\n")},
		{name: "with recoverable errors", status: hurries(2, degraded, degraded), want: "extended_status: degraded done; detail: DataSourceOpenStack; errors: []; recoverable_errors:; WARNING:; - Failed to set the hostname"},
		{name: "failed", status: hurries(1, running, failed), want: "errors:; - ('package_update_upgrade_install', ProcessExecutionError()); recoverable_errors: {}"},
		{name: "does not end", limit: 500 * time.Millisecond, err: "Running in stage: modules-config", status: func(ctx context.Context, p *sshtest.Process) int {
			if !slices.Contains(p.Args, "--wait") {
				return ends(0, running)(ctx, p)
			}
			<-ctx.Done()
			return 143
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			commands := map[string]sshtest.Command{}
			if c.status != nil {
				commands["cloud-init"] = c.status
			}
			m, host := machine(t, nil, commands)
			ctx := t.Context()
			if c.limit > 0 {
				limited, cancel := context.WithTimeout(ctx, c.limit)
				defer cancel()
				ctx = limited
			}
			got, err := m.AwaitBoot(ctx)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || !errors.Is(err, context.DeadlineExceeded)) {
				t.Errorf("%v", err)
			}
			if !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%q", got)
			}
			if finished, _ := afero.Exists(host.FS(), result); c.want != "" && !finished {
				t.Error("AwaitBoot returned before cloud-init had finished")
			}
			ran := slices.ContainsFunc(host.Commands(), func(r sshtest.Record) bool {
				return cmp.Equal(r.Argv, []string{"cloud-init", "status", "--long", "--wait"})
			})
			if ran != (c.status != nil) {
				t.Errorf("cloud-init was asked: %v", ran)
			}
		})
	}
}

// TestAwaitBootOfRestart: cloud-init may restart the machine, for a new kernel.
func TestAwaitBootOfRestart(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	first := make(chan struct{})
	m, host := machine(t, nil, map[string]sshtest.Command{"cloud-init": func(ctx context.Context, _ *sshtest.Process) int {
		if asked.Add(1) > 1 {
			return 0
		}
		close(first)
		<-ctx.Done()
		return 143
	}})
	go func() {
		<-first
		if err := host.Reboot(); err != nil {
			t.Error(err)
		}
	}()
	if got, err := m.AwaitBoot(t.Context()); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("cloud-init was asked %d times", n)
	}
}

// TestHostsTemplate finds the template that /etc/hosts is written from. The strongest of cloud-init's settings counts.
func TestHostsTemplate(t *testing.T) {
	t.Parallel()
	const (
		system   = "/etc/cloud/cloud.cfg"
		image    = "/etc/cloud/cloud.cfg.d/90_image.cfg"
		user     = "/var/lib/cloud/instance/cloud-config.txt"
		template = "/etc/cloud/templates/hosts.debian.tmpl"
		release  = "/etc/os-release"
		ubuntu   = "ID=ubuntu\nID_LIKE=debian\n"
	)
	for _, c := range []struct {
		name      string
		files     map[string]string
		want, err string
	}{
		{"without cloud-init", nil, "", ""},
		{"not set", map[string]string{system: "preserve_hostname: false\n", template: "x"}, "", ""},
		{"in the system", map[string]string{system: "a: b\nmanage_etc_hosts: true\n", template: "x", release: "ID=debian\n"}, template, ""},
		{"in the image", map[string]string{system: "manage_etc_hosts: false\n", image: "manage_etc_hosts: 'True' # as always\n", template: "x", release: ubuntu}, template, ""},
		{"by the old value", map[string]string{image: "manage_etc_hosts: template\n", template: "x", release: ubuntu}, template, ""},
		{"switched off by the user", map[string]string{image: "manage_etc_hosts: true\n", user: "#cloud-config\nmanage_etc_hosts: false\n", template: "x"}, "", ""},
		{"of one line only", map[string]string{image: "manage_etc_hosts: localhost\n", template: "x"}, "", ""},
		{"in a comment", map[string]string{image: "# manage_etc_hosts: true\n", template: "x"}, "", ""},
		{"of another family", map[string]string{image: "manage_etc_hosts: true\n", release: "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n",
			"/etc/cloud/templates/hosts.redhat.tmpl": "x"}, "/etc/cloud/templates/hosts.redhat.tmpl", ""},
		{"without a template", map[string]string{image: "manage_etc_hosts: true\n", release: ubuntu}, "", "manage_etc_hosts: true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, _ := machine(t, c.files, nil)
			got, err := m.HostsTemplate(t.Context())
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v", err)
			}
			if got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}
