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

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// machine is a simulated host with these files and programs.
func machine(t *testing.T, content map[string]string, commands map[string]sshtest.Command) (linux.Machine, *sshtest.Host) {
	t.Helper()
	m, host := login(t, sshtest.Config{User: "ubuntu", Password: "ubuntu", Commands: commands}, sshexec.Sudo{})
	for name, text := range content {
		if err := errors.Join(host.FS().MkdirAll(path.Dir(name), 0o755), afero.WriteFile(host.FS(), name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return m, host
}

const bootResult = "/run/cloud-init/result.json"

// look is what one look at a booting machine finds: what `cloud-init status --long` prints, its exit code, and whether
// cloud-init has written its result.
type look struct {
	text   string
	code   int
	result bool
}

// boots reports whether cloud-init has not ended for its status command: --wait continues.
func (l look) boots() bool {
	return strings.Contains(l.text, "status: running") || strings.Contains(l.text, "status: not run")
}

// What cloud-init 24.4 prints.
var (
	done     = look{"status: done\nextended_status: done\nboot_status_code: enabled-by-generator\ndetail: DataSourceOpenStack\nerrors: []\nrecoverable_errors: {}\n", 0, true}
	degraded = look{"status: done\nextended_status: degraded done\ndetail: DataSourceOpenStack\nerrors: []\nrecoverable_errors:\nWARNING:\n\t- Failed to set the hostname\n", 2, true}
	failed   = look{"status: error\nextended_status: error - done\ndetail: DataSourceOpenStack\nerrors:\n\t- ('package_update_upgrade_install', ProcessExecutionError())\nrecoverable_errors: {}\n", 1, true}
	running  = look{"status: running\nextended_status: running\ndetail: Running in stage: modules-config\nerrors: []\nrecoverable_errors: {}\n", 0, false}
	disabled = look{"status: disabled\ndetail: Cloud-init disabled by cloud-init-generator\n", 0, false}
)

// What cloud-init 22.4 prints. Each stage writes its start, and its end with its errors, to status.json. Errors hide that other
// stages still run. The last stage writes its end to status.json before it writes result.json (cloudinit/cmd/main.py,
// status_wrapper). The status command fails with a traceback if status.json is removed while it looks: the first stage removes the
// files of the boot before.
var (
	notRun      = look{"status: not run\nboot_status_code: unknown\ndetail:\nSystemd generator may not have run yet.\n", 0, false}
	traceback   = look{"", 1, false}
	inStage     = look{"status: running\nboot_status_code: enabled-by-generator\ndetail:\nRunning in stage: modules-config\n", 0, false}
	noResult    = look{"status: running\nboot_status_code: enabled-by-generator\ndetail:\nDataSourceNoCloud\n", 0, false} // between stages, and before result.json
	doneEarly   = look{"status: done\nboot_status_code: enabled-by-generator\ndetail:\nDataSourceNoCloud\n", 0, true}
	failedEarly = look{"status: error\nboot_status_code: enabled-by-generator\ndetail:\n('locale', ProcessExecutionError())\n", 1, false}
	failedEnd   = look{failedEarly.text, 1, true}
)

// boot is a machine that boots. Every look at it, of cloud-init status or of test, is followed by the next state. The last state stays.
type boot struct {
	mu     sync.Mutex
	states []look
	next   int
	looks  int
	// looked is called before every look, with the number of looks before. nil: nothing is called.
	looked func(int)
}

func (b *boot) look() look {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.looked != nil {
		b.looked(b.looks)
	}
	b.looks++
	now := b.states[b.next]
	b.next = min(b.next+1, len(b.states)-1)
	return now
}

// status is the program cloud-init.
func (b *boot) status(ctx context.Context, p *sshtest.Process) int {
	now := b.look()
	for slices.Contains(p.Args, "--wait") && now.boots() {
		_, _ = fmt.Fprint(p.Stdout, ".")
		if now == b.states[len(b.states)-1] {
			<-ctx.Done()
			return 143
		}
		now = b.look()
	}
	_, _ = fmt.Fprint(p.Stdout, "\n", now.text)
	return now.code
}

// exists is the program test.
func (b *boot) exists(_ context.Context, p *sshtest.Process) int {
	if slices.Equal(p.Args[len(p.Args)-2:], []string{"-e", bootResult}) && b.look().result {
		return 0
	}
	return 1
}

func (b *boot) on(t *testing.T) (linux.Machine, *sshtest.Host) {
	t.Helper()
	return machine(t, nil, map[string]sshtest.Command{"cloud-init": b.status, "test": b.exists})
}

// TestAwaitBoot waits for cloud-init where the image has it, and passes on what cloud-init reports of errors. The login is possible
// in any state of the boot.
func TestAwaitBoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		states []look
		want   string
	}{
		{"done", []look{running, running, done}, ""},
		{"disabled", []look{disabled}, ""},
		{"with recoverable errors", []look{running, degraded}, "extended_status: degraded done; detail: DataSourceOpenStack; errors: []; recoverable_errors:; WARNING:; - Failed to set the hostname"},
		{"failed", []look{running, failed}, "errors:; - ('package_update_upgrade_install', ProcessExecutionError()); recoverable_errors: {}"},
		{"22.4, done", []look{notRun, inStage, noResult, inStage, noResult, doneEarly}, ""},
		{"22.4, an early stage fails", []look{notRun, inStage, failedEarly, failedEarly, failedEarly, failedEarly, failedEnd}, "detail:; ('locale', ProcessExecutionError())"},
		{"22.4, the last stage fails", []look{notRun, inStage, noResult, inStage, failedEarly, failedEnd}, "detail:; ('locale', ProcessExecutionError())"},
		{"22.4, status.json is removed", []look{traceback, notRun, inStage, noResult, doneEarly}, ""},
		{"22.4, status.json is removed and a stage fails", []look{traceback, inStage, failedEarly, failedEnd}, "detail:; ('locale', ProcessExecutionError())"},
	} {
		for from := range c.states {
			t.Run(fmt.Sprint(c.name, " from state ", from), func(t *testing.T) {
				t.Parallel()
				b := &boot{states: c.states, next: from}
				m, host := b.on(t)
				got, err := m.AwaitBoot(t.Context())
				if err != nil || !strings.HasSuffix(got, c.want) || c.want == "" && got != "" {
					t.Errorf("%q, %v", got, err)
				}
				if b.next != len(b.states)-1 {
					t.Errorf("AwaitBoot returned in state %d of %d: cloud-init had not finished", b.next, len(b.states))
				}
				if !slices.ContainsFunc(host.Commands(), func(r sshtest.Record) bool {
					return cmp.Equal(r.Argv, []string{"cloud-init", "status", "--long", "--wait"})
				}) {
					t.Error("cloud-init was not asked")
				}
			})
		}
	}
	t.Run("without cloud-init", func(t *testing.T) {
		t.Parallel()
		m, _ := machine(t, nil, nil)
		if got, err := m.AwaitBoot(t.Context()); got != "" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// expiring is a context whose deadline passes when done is closed.
type expiring struct {
	context.Context
	done chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.done }

func (e expiring) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestAwaitBootOfStuck: cloud-init does not end. The error says what cloud-init reports.
func TestAwaitBootOfStuck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		state look
		want  string
	}{
		{"in a stage", running, "Running in stage: modules-config"},
		{"22.4, after an error", failedEarly, "status: error; boot_status_code: enabled-by-generator; detail:; ('locale', ProcessExecutionError())"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := expiring{t.Context(), make(chan struct{})}
			m, _ := (&boot{states: []look{{text: c.state.text + "...", code: c.state.code}, c.state}, looked: func(before int) {
				if before == 1 {
					close(ctx.done)
				}
			}}).on(t)
			if got, err := m.AwaitBoot(ctx); got != "" || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("%q, %v", got, err)
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
