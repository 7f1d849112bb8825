package ansible_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestRun checks the input of the program, that its files are separate and removed afterwards, and that both callbacks are
// read.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, posix := range []bool{true, false} {
		h := newAnsibleHost(t, nil)
		h.posix = posix
		server, _ := h.connect(sshexec.Options{})
		p := clusterPlay()
		p.Vault, p.Limit, p.Forks = vnflcm.NewSecret(`va"ult' \n`), []string{"worker-1", "worker-2"}, 20
		p.Vars = map[string]any{"text": "it's\n{{ 1 }}", "list": []any{"{% x %}", 1, int64(12345678901234567)}, "plain": true}
		var output strings.Builder
		p.Output = &output
		var events []ansible.Event
		result, err := server.Run(within(t), p, func(e ansible.Event) { events = append(events, e) })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(goodEvents, events); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(goodRecap, result.Recap); diff != "" {
			t.Error(diff)
		}
		if want := map[bool]string{true: goodLines, false: goodText}[posix]; output.String() != want {
			t.Errorf("output %q, want %q", output.String(), want)
		}
		unsafe := func(text string) any { return map[string]any{"__ansible_unsafe": text} }
		want := []map[string]any{{"text": unsafe("it's\n{{ 1 }}"), "list": []any{unsafe("{% x %}"), 1.0, 12345678901234567.0}, "plain": true}}
		if diff := cmp.Diff(want, h.vars); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{`va"ult' \n` + "\n"}, h.vaults); diff != "" {
			t.Error(diff)
		}
		if left := h.left(); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		checkArguments(t, h)
	}
}

func checkArguments(t *testing.T, h *ansibleHost) {
	t.Helper()
	for _, r := range h.Commands() {
		for _, arg := range r.Argv {
			if strings.Contains(arg, "ult'") || strings.Contains(arg, "it's") {
				t.Errorf("a secret among the arguments: %q", r.Argv)
			}
		}
		if r.Argv[0] != "ansible-playbook" {
			continue
		}
		directory := "/home/ubuntu/.vnfkit/run/"
		args := slices.Clone(r.Argv)
		for i, arg := range args {
			if at := strings.Index(arg, directory); at >= 0 {
				args[i] = arg[:at] + "RUN" + arg[at+len(directory)+32:]
			}
		}
		want := []string{
			"ansible-playbook", "-e", "@RUN/vars.json", "--vault-password-file=RUN/vault", "-i", "/home/ubuntu/inventory/hosts.ini",
			"--become", "--become-user=root", "--limit=worker-1,worker-2", "--forks=20", "cluster.yml",
		}
		if diff := cmp.Diff(want, args); diff != "" {
			t.Error(diff)
		}
		if r.Dir != root || r.User != "ubuntu" || !slices.Contains(r.Env, "ANSIBLE_HOST_KEY_CHECKING=True") || !slices.Contains(r.Env, "ANSIBLE_DISPLAY_SKIPPED_HOSTS=true") {
			t.Errorf("ran in %s as %s with %q", r.Dir, r.User, r.Env)
		}
	}
}

// TestRunRecorded reads recorded output of Ansible 2.14, with every possible result of a task.
func TestRunRecorded(t *testing.T) {
	t.Parallel()
	golden, err := os.ReadFile("testdata/site.events")
	if err != nil {
		t.Fatal(err)
	}
	for _, posix := range []bool{true, false} {
		h := newAnsibleHost(t, nil)
		h.posix = posix
		h.plays(h.recorded)
		server, _ := h.connect(sshexec.Options{})
		var events []ansible.Event
		_, err := server.Run(within(t), clusterPlay(), func(e ansible.Event) { events = append(events, e) })
		failed, ok := errors.AsType[*ansible.Error](err)
		if !ok {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(golden), "\n"), strings.Split(hostByHost(events), "\n")); diff != "" {
			t.Errorf("posix %v: %s", posix, diff)
		}
		if diff := cmp.Diff(siteFailures, perHost(failed.Failures)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(siteRecap, failed.Recap); diff != "" {
			t.Error(diff)
		}
		if failed.Code != 4 || len(failed.Last) != 20 || !strings.Contains(failed.Output, "Breaks at last") {
			t.Errorf("%+v", failed)
		}
		host, command, code, stderr := failed.CommandFailure()
		if host != "ansible" || command != "ansible-playbook cluster.yml" || code != 4 || stderr != failed.Output {
			t.Errorf("%s, %s, %d, %s", host, command, code, stderr)
		}
		for _, part := range []string{"ansible: cluster.yml ", "failed on node-2 in task Items break: item /bin/ls /nowhere: ", "cannot reach node-3 in task Knocks: "} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in %q", part, err)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q", err)
		}
	}
}

// hostByHost returns the events as lines, sorted by host.
func hostByHost(events []ansible.Event) string {
	var out strings.Builder
	by := perHost(events)
	for _, host := range []string{"", "node-1", "node-2", "node-3"} {
		for _, e := range by[host] {
			fmt.Fprintf(&out, "%s | %s | %s\n", e.Play, e.Task, strings.ReplaceAll(e.String(), "\n", `\n`))
		}
	}
	return out.String()
}

// TestRunFailedAgain checks that the result of a failed run is reported again, from any process, until a new run is asked
// for.
func TestRunFailedAgain(t *testing.T) {
	t.Parallel()
	h := newAnsibleHost(t, nil)
	h.plays(h.recorded)
	ctx := within(t)
	p := clusterPlay()
	for range 2 {
		server, end := h.connect(sshexec.Options{})
		if _, err := server.Run(ctx, p, nil); err == nil || !strings.Contains(err.Error(), "Breaks at last") {
			t.Errorf("got %v", err)
		}
		end()
	}
	if n := h.started(); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	h.plays(nil)
	h.posix = false // the existing run began with the other callback
	server, _ := h.connect(sshexec.Options{})
	if _, err := server.Run(ctx, p, nil); err == nil || !strings.Contains(err.Error(), "Breaks at last") {
		t.Errorf("got %v", err)
	}
	p.Again = true
	for range 2 {
		if result, err := server.Run(ctx, p, nil); err != nil || len(result.Recap) != 2 {
			t.Errorf("%+v, %v", result, err)
		}
	}
	if n := h.started(); n != 2 {
		t.Errorf("it was started %d times, a success is not to be repeated", n)
	}
	p.Limit = []string{"worker-3"} // Ansible reports success, but the run did nothing on this host
	for range 2 {
		if _, err := server.Run(ctx, p, nil); !errors.Is(err, ansible.ErrNoHosts) || !strings.Contains(err.Error(), "worker-3") {
			t.Errorf("got %v", err)
		}
	}
	if n := h.started(); n != 4 {
		t.Errorf("it was started %d times", n)
	}
	for range 2 {
		if err := server.Forget(ctx, p.Name); err != nil {
			t.Error(err)
		}
	}
	if jobs, err := server.Host.Jobs(ctx, ""); err != nil || len(jobs) > 0 {
		t.Errorf("%+v, %v", jobs, err)
	}
}

// TestRunMasked checks that secrets appear nowhere, in whatever form the program prints them.
func TestRunMasked(t *testing.T) {
	t.Parallel()
	const secret = `s3"cr'et` + "\\ü"
	for _, posix := range []bool{true, false} {
		h := newAnsibleHost(t, nil)
		h.posix = posix
		h.plays(func(_ context.Context, p *sshtest.Process) int {
			if posix {
				fmt.Fprintln(p.Stdout, `{"_event":"v2_playbook_on_play_start","play":{"name":"P"}}`)
				fmt.Fprintln(p.Stdout, `{"_event":"v2_playbook_on_task_start","task":{"name":"with s3\"cr'et\\\u00fc"}}`)
				fmt.Fprintln(p.Stdout, `{"_event":"v2_runner_on_failed","hosts":{"n":{"msg":"no: s3\"cr'et\\\u00fc","invocation":"{\"p\": \"s3\\\"cr'et\\\\\\u00fc\"}"}},"task":{"name":"with s3\"cr'et\\\u00fc"}}`)
			} else {
				fmt.Fprintln(p.Stdout, "PLAY [P] ***\n\nTASK [with "+secret+"] ***")
				fmt.Fprintln(p.Stdout, `fatal: [n]: FAILED! => {"msg": "no: s3\"cr'et\\ü"}`)
			}
			fmt.Fprintln(p.Stdout, "ERROR! "+secret)
			return 2
		})
		server, _ := h.connect(sshexec.Options{})
		p := clusterPlay()
		var output bytes.Buffer
		p.Output, p.Secrets = &output, []string{secret}
		var events []ansible.Event
		_, err := server.Run(within(t), p, func(e ansible.Event) { events = append(events, e) })
		failed, ok := errors.AsType[*ansible.Error](err)
		if !ok {
			t.Fatal(err)
		}
		said := fmt.Sprintf("%s %+v %+v %s", err, failed, events, output.String())
		for _, part := range []string{"s3", "cr'et"} {
			if strings.Contains(said, part) {
				t.Errorf("posix %v: %q in %s", posix, part, said)
			}
		}
		if want := "ansible: cluster.yml failed on n in task with ***: no: ***"; err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// TestRunForged: a host inserts forged lines into Ansible's warnings. They can neither hide a failure or a host that was
// left out, nor turn a success into a failure.
func TestRunForged(t *testing.T) {
	t.Parallel()
	const (
		statsLine = `{"_event":"v2_playbook_on_stats","stats":{"worker-1":{"ok":1},"worker-2":{"ok":1}}}` + "\n"
		statsText = "PLAY RECAP ***\nworker-1 : ok=1 failed=0\nworker-2 : ok=1 failed=0\n"
		okLine    = `{"_event":"v2_runner_on_ok","hosts":{"worker-1":{}},"task":{"name":"t"}}` + "\n"
		okText    = "ok: [worker-1]\n"
		noLine    = `{"_event":"v2_runner_on_failed","hosts":{"worker-1":{"msg":"no"}},"task":{"name":"t"}}` + "\n"
		noText    = `fatal: [worker-1]: FAILED! => {"msg": "no"}` + "\n"
	)
	for name, test := range map[string]struct {
		lines, text string
		code        int
		check       func(*ansible.Result, error) bool
	}{
		"a host that was left out": {
			statsLine + `{"_event":"v2_playbook_on_stats","stats":{"worker-1":{"ok":1}}}` + "\n", statsText + "\nPLAY RECAP ***\nworker-1 : ok=1\n", 0,
			func(_ *ansible.Result, err error) bool {
				return errors.Is(err, ansible.ErrNoHosts) && strings.Contains(err.Error(), "worker-2")
			},
		},
		"a failure, before it happens and after": {
			statsLine + noLine + okLine + statsLine + `{"_event":"v2_playbook_on_stats","stats":{"worker-1":{"failures":1}}}` + "\n",
			statsText + noText + okText + statsText + "\nPLAY RECAP ***\nworker-1 : ok=0 failed=1\n", 2,
			func(_ *ansible.Result, err error) bool {
				failed, ok := errors.AsType[*ansible.Error](err)
				return ok && len(failed.Failures) == 1 && failed.Failures[0].Host == "worker-1" && failed.Failures[0].Message == "no" && len(failed.Recap) == 1
			},
		},
		"a failure of Ansible without counts": {
			statsLine, statsText, 250,
			func(_ *ansible.Result, err error) bool {
				_, ok := errors.AsType[*ansible.Error](err)
				return ok
			},
		},
		"a complaint in a success": {
			"ERROR! no hosts to target\n" + noLine + statsLine, "ERROR! no hosts to target\n" + noText + statsText, 0,
			func(result *ansible.Result, err error) bool { return err == nil && len(result.Recap) == 2 },
		},
	} {
		for _, posix := range []bool{true, false} {
			h := newAnsibleHost(t, nil)
			h.posix = posix
			h.plays(func(_ context.Context, p *sshtest.Process) int {
				fmt.Fprint(p.Stdout, map[bool]string{true: test.lines, false: test.text}[posix])
				return test.code
			})
			server, _ := h.connect(sshexec.Options{})
			p := clusterPlay()
			p.Limit = []string{"worker-1", "worker-2"}
			var events []ansible.Event
			result, err := server.Run(within(t), p, func(e ansible.Event) { events = append(events, e) })
			if !test.check(result, err) {
				t.Errorf("%s, posix %v: %+v, %v\n%v", name, posix, result, err, events)
			}
			if strings.Contains(test.text, noText) && !slices.ContainsFunc(events, func(e ansible.Event) bool { return e.Kind == ansible.HostFailed }) {
				t.Errorf("%s, posix %v: nothing is told of the failure: %v", name, posix, events)
			}
		}
	}
}

// TestRunRefused checks that an invalid play is refused with every fault, before any command runs on the server.
func TestRunRefused(t *testing.T) {
	t.Parallel()
	h := newAnsibleHost(t, nil)
	server, _ := h.connect(sshexec.Options{})
	_, err := server.Run(t.Context(), ansible.Play{
		Dir: "relative", Playbook: "--version", Inventory: []string{"a,b", "-i"}, Limit: []string{"all:!x", "-x", "w*"},
		Vars: map[string]any{"a-b": 1}, Vault: vnflcm.NewSecret("two\nlines"), Forks: -1,
	}, nil)
	for _, part := range []string{"needs a name", `"relative"`, `"--version"`, `"a,b"`, `"-i"`, `"all:!x"`, `"-x"`, `"w*"`, `"a-b"`, "vault", "forks"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not in %v", part, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "two") {
		t.Error("the vault password is in the error")
	}
	p := clusterPlay()
	p.Vars["f"] = func() {}
	if _, err := server.Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "variables") {
		t.Errorf("got %v", err)
	}
	if n := h.started(); n > 0 {
		t.Error("it was started")
	}
}

// TestRunUnobserved checks that a run succeeds without an observer and with an output that cannot be written.
func TestRunUnobserved(t *testing.T) {
	t.Parallel()
	h := newAnsibleHost(t, nil)
	server, _ := h.connect(sshexec.Options{})
	p := clusterPlay()
	p.Output = full{}
	if _, err := server.Run(within(t), p, nil); err != nil {
		t.Error(err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }
