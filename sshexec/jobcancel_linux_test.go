package sshexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

// uniqueSleep returns the duration of a sleep that no other process uses.
func uniqueSleep() string { return "100." + strconv.FormatInt(time.Now().UnixNano(), 10) }

func sleeping(t *testing.T, unique string) (pids []string) {
	t.Helper()
	for pid, args := range processes(t) {
		if strings.HasPrefix(args, "sleep "+unique) || strings.HasPrefix(args, "busybox sleep "+unique) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func awaitSleeping(t *testing.T, unique string, n int) {
	t.Helper()
	ctx := withinMinutes(t)
	for len(sleeping(t, unique)) != n {
		select {
		case <-ctx.Done():
			t.Fatalf("%d processes instead of %d", len(sleeping(t, unique)), n)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestJobCancel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		shell   string
		sleeps  int
		code    int
		quickly bool
		grep    bool // use a grep that ignores the text after a NUL
	}{
		{"by TERM", `exec sleep $S`, 1, 143, true, false},
		{"with its children", `sleep $S & sleep $S & wait`, 2, 143, true, false},
		{"tidies up", `trap 'kill $!; exit 9' TERM; sleep $S & wait`, 1, 9, true, false},
		{"ignores TERM", `trap "" TERM; sleep $S; sleep $S; sleep $S`, 1, 137, false, false},
		{"children went away", `(setsid sleep $S &); (setsid sh -c 'trap "" TERM; sleep $S' &); sleep $S`, 3, 143, false, false},
		{"children went away, poor grep", `(setsid sleep $S &); sleep $S`, 2, 143, true, true},
		{"a child that kept nothing", `env -i setsid sleep $S & wait`, 1, 143, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			host, remote := jobHost(t)
			if tt.grep {
				bin := filepath.Join(remote.home, "bin")
				text := "#!/bin/sh\nif [ \"$*\" = \"-q b\" ]; then exit 1; fi; exec /bin/grep \"$@\"\n"
				err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "grep"), []byte(text), 0o755)) //nolint:gosec // a program
				if err != nil {
					t.Fatal(err)
				}
				remote.path = bin + ":"
			}
			unique := uniqueSleep()
			// Text, not a variable, for the child without environment.
			c := sshexec.Command{Shell: sshexec.Shell(strings.ReplaceAll(tt.shell, "$S", unique)), Grace: time.Second}
			if tt.quickly {
				c.Grace = time.Minute
			}
			job, err := host.StartJob(withinMinutes(t), "j", c)
			if err != nil {
				t.Fatal(err)
			}
			awaitSleeping(t, unique, tt.sleeps)
			for range 2 { // the second call has nothing to do
				if err := job.Cancel(withinMinutes(t)); err != nil {
					t.Error(err)
				}
			}
			if left := sleeping(t, unique); len(left) > 0 {
				t.Errorf("%d processes still run", len(left))
			}
			if s, err := job.Status(withinMinutes(t)); err != nil || s.State != sshexec.JobEnded || s.Code != tt.code {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func TestJobRemove(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	ctx := withinMinutes(t)
	job, err := host.StartJob(ctx, "j", sshexec.Command{Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Remove(ctx); !errors.Is(err, sshexec.ErrJobRunning) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(job.Cancel(ctx), job.Remove(ctx), job.Remove(ctx)); err != nil {
		t.Error(err)
	}
	if _, err := job.Status(ctx); !errors.Is(err, sshexec.ErrNoJob) {
		t.Errorf("got %v", err)
	}
	if left := remote.kept(t); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	if out, code := outcome(t, host, "j", sshexec.Command{Argv: []string{"echo", "another"}}); out != "another\n" || code != 0 {
		t.Errorf("%q, %d", out, code)
	}
}

// TestJobLost checks that a job does not count as running after a restart of the host, or if another process has the process id of the
// supervisor, and that StartJob does not start it again.
func TestJobLost(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, link string){
		"host restarted": func(t *testing.T, link string) {
			relink(t, link, func(f []string) { f[2] = "00000000-0000-0000-0000-000000000000" })
		},
		"number of another process": func(t *testing.T, link string) {
			relink(t, link, func(f []string) { f[0] = strconv.Itoa(os.Getpid()) })
		},
		"number of no process": func(t *testing.T, link string) { relink(t, link, func(f []string) { f[0] = "4194305" }) },
		"killed": func(t *testing.T, link string) {
			text, err := os.Readlink(link)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.Fields(text)[0])
			if err == nil {
				err = syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil {
				t.Fatal(err)
			}
			await(t, "the supervisor to die", func() bool { // on a busy machine it lives for a while
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				return err != nil || strings.Contains(string(stat), ") Z ")
			})
		},
	}
	for name, lose := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, remote := jobHost(t)
			ctx := withinMinutes(t)
			unique := uniqueSleep()
			c := sshexec.Command{Shell: sshexec.Shell("echo begun; sleep " + unique)}
			job, err := host.StartJob(ctx, "j", c)
			if err != nil {
				t.Fatal(err)
			}
			awaitSleeping(t, unique, 1)
			lose(t, filepath.Join(remote.jobDir("j"), "pid"))
			if s, err := job.Status(ctx); err != nil || s.State != sshexec.JobLost || s.Started.IsZero() {
				t.Errorf("%+v, %v", s, err)
			}
			var out bytes.Buffer
			if next, err := job.Follow(ctx, &out, 0); !errors.Is(err, sshexec.ErrJobLost) || next != 6 || out.String() != "begun\n" {
				t.Errorf("Follow: %d, %v", next, err)
			}
			if err := job.Wait(ctx); !errors.Is(err, sshexec.ErrJobLost) {
				t.Errorf("Wait: %v", err)
			}
			if _, err := host.StartJob(ctx, "j", c); err != nil {
				t.Error(err)
			}
			if err := job.Remove(ctx); !errors.Is(err, sshexec.ErrJobRunning) || !strings.Contains(fmt.Sprint(err), sleeping(t, unique)[0]) {
				t.Errorf("Remove: %v", err)
			}
			if err := errors.Join(job.Cancel(ctx), job.Remove(ctx)); err != nil {
				t.Error(err)
			}
			if left := sleeping(t, unique); len(left) > 0 {
				t.Errorf("%d processes still run", len(left))
			}
		})
	}
}

func relink(t *testing.T, link string, change func([]string)) {
	t.Helper()
	text, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(text)
	change(fields)
	if err := errors.Join(os.Remove(link), os.Symlink(strings.Join(fields, " "), link)); err != nil {
		t.Fatal(err)
	}
}

// TestJobPending checks that a job whose start was interrupted is pending, and that Cancel and Remove prevent it from starting.
func TestJobPending(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end  func(context.Context, *sshexec.Job) error
		code int
		runs int
	}{
		"started":   {func(ctx context.Context, j *sshexec.Job) error { return nil }, 0, 1},
		"cancelled": {func(ctx context.Context, j *sshexec.Job) error { return j.Cancel(ctx) }, 143, 0},
		"removed":   {func(ctx context.Context, j *sshexec.Job) error { return j.Remove(ctx) }, 0, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, remote := jobHost(t)
			ctx := withinMinutes(t)
			outcome(t, host, "j", once(remote))
			// Restore the state of the job before the supervisor started.
			dir := remote.jobDir("j")
			ended, err := filepath.Glob(dir + "/ended.0.*")
			if err != nil || len(ended) != 1 {
				t.Fatalf("%q, %v", ended, err)
			}
			if err := errors.Join(
				os.Remove(filepath.Join(remote.home, "runs")), os.Remove(dir+"/pid"), os.Rename(ended[0], dir+"/pending"), os.Truncate(dir+"/output", 0),
				os.WriteFile(dir+"/command", []byte("set -- sh -c 'echo ran >>runs'\nexec \"$@\"\n"), 0o666), //nolint:gosec // the user of the host reads the file
				os.Chmod(dir+"/command", 0o666)); err != nil { //nolint:gosec // the same
				t.Fatal(err)
			}
			job := host.Job("j", "")
			if s, err := job.Status(ctx); err != nil || s.State != sshexec.JobPending {
				t.Errorf("%+v, %v", s, err)
			}
			_, follow := job.Follow(ctx, new(bytes.Buffer), 0)
			if wait := job.Wait(ctx); !errors.Is(follow, sshexec.ErrNoJob) || !errors.Is(wait, sshexec.ErrNoJob) {
				t.Errorf("Follow: %v, Wait: %v", follow, wait)
			}
			if err := tt.end(ctx, job); err != nil {
				t.Error(err)
			}
			if _, code := outcome(t, host, "j", once(remote)); code != tt.code || runs(t, remote) != tt.runs {
				t.Errorf("exit code %d, the command ran %d times", code, runs(t, remote))
			}
		})
	}
}

// TestJobHostileFiles checks that an entry that is not a job leads to an error that names the entry.
func TestJobHostileFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]func(dir string) error{
		"a file":               func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a link":               func(dir string) error { return os.Symlink("/etc", dir) },
		"a link to nothing":    func(dir string) error { return os.Symlink("/nowhere", dir) },
		"an empty directory":   func(dir string) error { return os.Mkdir(dir, 0o755) },
		"no link where one is": func(dir string) error { return errors.Join(hostile(dir), os.WriteFile(dir+"/pid", nil, 0o600)) },
		"no number":            func(dir string) error { return errors.Join(hostile(dir), os.Mkdir(dir+"/ended.x.1", 0o700)) },
		"too large a number": func(dir string) error {
			return errors.Join(hostile(dir), os.Mkdir(dir+"/ended.1.99999999999999999999", 0o700))
		},
		"text that looks right": func(dir string) error {
			return errors.Join(hostile(dir), os.Symlink("1 2 3 4\nended 0 0 0 0", dir+"/pid"))
		},
		"shell text": func(dir string) error { return errors.Join(hostile(dir), os.Symlink("$(id) * `id` ;id", dir+"/pid")) },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host, remote := jobHost(t)
			ctx := withinMinutes(t)
			outcome(t, host, "good", sshexec.Command{Argv: []string{"true"}})
			if err := spoil(remote.jobDir("bad")); err != nil {
				t.Fatal(err)
			}
			job := host.Job("bad", "")
			_, status := job.Status(ctx)
			_, start := host.StartJob(ctx, "bad", sshexec.Command{Argv: []string{"true"}})
			jobs, all := host.Jobs(ctx, "")
			for what, err := range map[string]error{"Status": status, "Wait": job.Wait(ctx), "Cancel": job.Cancel(ctx), "Remove": job.Remove(ctx), "Jobs": all} {
				if err == nil || !strings.Contains(err.Error(), "/jobs/bad") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if start == nil {
				t.Error("StartJob: no error")
			}
			if len(jobs) != 1 || jobs[0].Name != "good" {
				t.Errorf("got %+v", jobs)
			}
			if diff := cmp.Diff([]string{"bad", "good"}, remote.kept(t)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func hostile(dir string) error {
	return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777), os.Symlink("digest TOKEN", dir+"/spec")) //nolint:gosec // the user of the host may enter
}
