package ansible_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// realServer returns this machine as an Ansible server, with a separate home directory.
func realServer(t *testing.T) (ansible.Server, string) {
	t.Helper()
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		t.Skip("no ansible-playbook on this machine")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	root := filepath.Join(home, "playbooks")
	if err := os.CopyFS(root, os.DirFS("testdata/playbooks")); err != nil {
		t.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{})
	t.Cleanup(func() { _ = pool.Close() })
	return ansible.Server{Host: pool.Local(sshexec.Sudo{})}, root
}

// realPlay returns a play that does not use sudo, because the user who runs the tests may not have it.
func realPlay(t *testing.T, server ansible.Server, root, playbook string) ansible.Play {
	t.Helper()
	return ansible.Play{
		Name: realName(t, server), Dir: root, Playbook: playbook, Inventory: []string{filepath.Join(root, "hosts.ini")},
		Vars: map[string]any{"ansible_become": false},
	}
}

// realName returns a unique name of a run, and removes the run when the test ends: the jobs of root are outside of the home
// directory.
func realName(t *testing.T, server ansible.Server) string {
	t.Helper()
	name := "test/" + rand.Text()
	t.Cleanup(func() {
		if err := server.Forget(context.WithoutCancel(t.Context()), name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// textOnly hides the collection that has the callback for JSON lines.
func textOnly(t *testing.T, p *ansible.Play) {
	t.Helper()
	// A separate directory of plugins does not hide a collection, but an ansible-doc that finds nothing does.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ansible-doc"), []byte("#!/bin/sh\necho '{}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Env = map[string]string{"PATH": dir + ":" + os.Getenv("PATH")}
}

// perHost returns the events of each host in order, because hosts run concurrently. The events of plays and tasks are under
// "".
func perHost(events []ansible.Event) map[string][]ansible.Event {
	out := map[string][]ansible.Event{}
	for _, e := range events {
		out[e.Host] = append(out[e.Host], e)
	}
	return out
}

// TestRealCallbacks runs the same playbook with both callbacks, and expects the same events for every possible result of a
// task.
func TestRealCallbacks(t *testing.T) {
	fulltest.Only(t, "runs Ansible for many seconds")
	server, root := realServer(t)
	type told struct {
		events []ansible.Event
		err    error
		output strings.Builder
	}
	got := map[string]*told{"jsonl": {}, "default": {}}
	var runs sync.WaitGroup
	for callback, told := range got {
		p := realPlay(t, server, root, "site.yml")
		p.Output = &told.output
		if callback == "default" {
			textOnly(t, &p)
		}
		runs.Go(func() {
			_, told.err = server.Run(t.Context(), p, func(e ansible.Event) { told.events = append(told.events, e) })
		})
	}
	runs.Wait()
	errs := map[string]*ansible.Error{}
	for callback, told := range got {
		failed, ok := errors.AsType[*ansible.Error](told.err)
		if !ok {
			t.Fatalf("%s: got %v\n%s", callback, told.err, told.output.String())
		}
		if (callback == "jsonl") != strings.Contains(told.output.String(), `{"_event":`) {
			t.Skip("this machine has no collection ansible.posix: the callbacks cannot be compared")
		}
		errs[callback] = failed
		if dir := os.Getenv("VNFKIT_RECORD"); dir != "" {
			text := strings.ReplaceAll(told.output.String(), root, "/home/ubuntu/kubespray")
			_ = os.WriteFile(filepath.Join(dir, "site."+callback), []byte(text), 0o644)
		}
	}
	if diff := cmp.Diff(perHost(got["jsonl"].events), perHost(got["default"].events)); diff != "" {
		t.Errorf("the events differ (-JSON lines +text):\n%s", diff)
	}
	if diff := cmp.Diff(errs["jsonl"].Recap, errs["default"].Recap); diff != "" {
		t.Errorf("the recaps differ (-JSON lines +text):\n%s", diff)
	}
	if diff := cmp.Diff(perHost(errs["jsonl"].Failures), perHost(errs["default"].Failures)); diff != "" {
		t.Errorf("the failures differ (-JSON lines +text):\n%s", diff)
	}
	if diff := cmp.Diff(siteFailures, perHost(errs["jsonl"].Failures)); diff != "" {
		t.Error(diff)
	}
}

func TestRealVault(t *testing.T) {
	fulltest.Only(t, "runs Ansible for many seconds")
	server, root := realServer(t)
	const password, secret = `pass'wo"rd`, `very "secret" 'ß'`
	if err := os.MkdirAll(filepath.Join(root, "group_vars"), 0o700); err != nil {
		t.Fatal(err)
	}
	vaulted := filepath.Join(root, "group_vars", "nodes.yml")
	if err := os.WriteFile(vaulted, []byte("secret: |-\n  "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	passwordFile := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "ansible-vault", "encrypt", "--vault-password-file", passwordFile, vaulted).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := realPlay(t, server, root, "vars.yml")
	file := filepath.Join(root, "written")
	const text = `{{ lookup('pipe', 'id') }} {% raw %} it's "this"`
	p.Vars["file"], p.Vars["text"], p.Vars["number"] = file, text, 7
	var output strings.Builder
	p.Output, p.Secrets = &output, []string{secret}

	_, err := server.Run(t.Context(), p, nil)
	if failed, ok := errors.AsType[*ansible.Error](err); !ok || !strings.Contains(err.Error(), "vault") {
		t.Errorf("without the password: %v, %+v", err, failed)
	}
	p.Vault, p.Again = vnflcm.NewSecret(password), true
	result, err := server.Run(t.Context(), p, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	if diff := cmp.Diff(map[string]ansible.HostRecap{"node-1": {OK: 2, Changed: 1}}, result.Recap); diff != "" {
		t.Error(diff)
	}
	written, err := os.ReadFile(file)
	if err != nil || string(written) != text+"|"+secret+"|7" {
		t.Errorf("the playbook got %q, %v", written, err)
	}
	if strings.Contains(output.String(), "very") || !strings.Contains(output.String(), "***") {
		t.Errorf("not masked:\n%s", output.String())
	}
	checkRealLog(t, root, p.Name, "very")
	left, err := os.ReadDir(filepath.Join(filepath.Dir(root), ".vnfkit", "run"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// checkRealLog checks that a text printed without no_log is in the log of the job, which only its owner can read.
func checkRealLog(t *testing.T, root, name, secret string) {
	t.Helper()
	jobs := filepath.Join(filepath.Dir(root), ".local/state/sshexec/jobs")
	if os.Getuid() == 0 {
		jobs = "/var/lib/sshexec/jobs"
	}
	logs, err := filepath.Glob(filepath.Join(jobs, "*"+path.Base(name), "output"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("logs: %q, %v", logs, err)
	}
	content, err := os.ReadFile(logs[0])
	if err != nil || !strings.Contains(string(content), secret) {
		t.Errorf("%v\n%s", err, content)
	}
	for file, mode := range map[string]os.FileMode{logs[0]: 0o600, filepath.Dir(logs[0]): 0o700} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

func TestRealEnds(t *testing.T) {
	fulltest.Only(t, "runs Ansible for many seconds")
	server, root := realServer(t)
	v, err := server.Check(t.Context(), ansible.Requirements{Root: root, Playbooks: []string{"good.yml", "absent.yml"}})
	if !errors.Is(err, ansible.ErrTree) || !strings.HasPrefix(v.Ansible, "2.") {
		t.Errorf("Check: %+v, %v", v, err)
	}
	p := realPlay(t, server, root, "good.yml")
	textOnly(t, &p) // the text callback starts faster
	p.Limit = []string{"node-2"}
	if result, err := server.Run(t.Context(), p, nil); err != nil || len(result.Recap) != 1 || result.Started.IsZero() {
		t.Errorf("limited: %+v, %v", result, err)
	}
	for name, limit := range map[string][]string{"unknown": {"node-9"}, "one of two": {"node-1", "node-9"}} {
		p.Name, p.Limit = realName(t, server), limit
		if _, err := server.Run(t.Context(), p, nil); !errors.Is(err, ansible.ErrNoHosts) {
			t.Errorf("%s: got %v", name, err)
		} else {
			t.Log(err)
		}
	}
}

// TestRealStop checks that a run continues after a shutdown, and that another process can stop it with all processes that
// it started.
func TestRealStop(t *testing.T) {
	server, root := realServer(t)
	p := realPlay(t, server, root, "slow.yml")
	textOnly(t, &p) // the text callback starts faster
	run := func(cause error) error {
		ctx, end := context.WithCancelCause(t.Context())
		_, err := server.Run(ctx, p, func(e ansible.Event) {
			if e.Kind == ansible.TaskStarted {
				end(cause)
			}
		})
		return err
	}
	if err := run(vnflcm.ErrShutdown); !errors.Is(err, vnflcm.ErrShutdown) {
		t.Errorf("got %v", err)
	}
	if s, err := server.Host.Job(p.Name, "").Status(t.Context()); err != nil || s.State != sshexec.JobRunning {
		t.Errorf("after the shutdown: %+v, %v", s, err)
	}
	begun := time.Now()
	if err := run(vnflcm.ErrCancelled); !errors.Is(err, vnflcm.ErrCancelled) {
		t.Errorf("got %v", err)
	}
	if s, err := server.Host.Job(p.Name, "").Status(t.Context()); err != nil || s.State != sshexec.JobEnded {
		t.Errorf("after the cancel: %+v, %v", s, err)
	}
	if took := time.Since(begun); took > 5*time.Minute {
		t.Errorf("it took %v to stop a playbook of ten minutes", took)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(root), ".vnfkit", "run", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
