package sshexec_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestJobOfRoot checks that the jobs of root are separate from the jobs of the login user.
func TestJobOfRoot(t *testing.T) {
	t.Parallel()
	const password = "s3cret 'quoted'"
	remote := sshtest.Start(t, sshtest.Config{SudoPassword: password})
	to := target(t, remote)
	to.Sudo = sshexec.SudoPassword(password)
	host := newPool(t, sshexec.Options{}).Host(to)
	ctx := withinMinutes(t)
	c := sshexec.Command{Shell: `whoami; pwd; echo "$V"; cat`, Env: map[string]string{"V": "it's"}, Dir: "/etc"}
	got := map[string]string{}
	for _, user := range []string{"", "root"} {
		c.Root, c.Stdin = user == "root", bytes.NewReader([]byte("input"))
		if _, err := host.StartJob(ctx, "j", c); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := host.Job("j", user).Follow(ctx, &out, 0); err != nil {
			t.Error(err)
		}
		got[user] = out.String()
		if jobs, err := host.Jobs(ctx, user); err != nil || len(jobs) != 1 {
			t.Errorf("%v, %v", jobs, err)
		}
	}
	if diff := cmp.Diff(map[string]string{"": "ubuntu\n/etc\nit's\ninput", "root": "root\n/etc\nit's\ninput"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestJobReboot checks that a job that was running when the host restarted is lost, and not ended.
func TestJobReboot(t *testing.T) {
	t.Parallel()
	host, remote := connect(t, sshtest.Config{})
	ctx := withinMinutes(t)
	c := sshexec.Command{Argv: []string{"sleep", "3600"}}
	job, err := host.StartJob(ctx, "j", c)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Reboot(); err != nil {
		t.Fatal(err)
	}
	if err := job.Wait(ctx); !errors.Is(err, sshexec.ErrJobLost) {
		t.Errorf("got %v", err)
	}
	if err := job.Remove(ctx); err != nil {
		t.Error(err)
	}
	if job, err = host.StartJob(ctx, "j", c); err != nil {
		t.Fatal(err)
	}
	if s, err := job.Status(ctx); err != nil || s.State != sshexec.JobRunning {
		t.Errorf("%+v, %v", s, err)
	}
}
