package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// owners are whose jobs there can be.
var owners = map[string]bool{"": false, "root": true}

// patient returns a job that runs until a file exists, and then fails.
func patient(name string, asRoot bool) sshexec.Command {
	return sshexec.Command{Root: asRoot, Env: map[string]string{"SECRET": "canary's secret"}, Secrets: []string{"canary's secret"},
		Argv: []string{"sh", "-c", `echo "begun $#"; while [ ! -e "/go-$1" ]; do sleep 0.05; done; echo "ended $SECRET"; exit 7`, name, name}}
}

// TestJobOutlivesItsCaller: the process that started a job is killed, the connections are cut, sshd is
// restarted; another process finds the job and follows it, also over more such events, to its end.
func TestJobOutlivesItsCaller(t *testing.T) {
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, machine *vmhost.Host) {
		for owner, asRoot := range owners {
			t.Run("of "+owner, func(t *testing.T) {
				name := "instance/phase/step of " + owner
				file := "user"
				if asRoot {
					file = "root"
				}
				startInChild(t, machine, childStart{Name: name, File: file, Root: asRoot})
				must(t, machine.CutConnections(within(t, time.Minute)))
				must(t, machine.RestartSSH(within(t, time.Minute)))
				must(t, host.Wait(within(t, time.Minute)))

				found := host.Job(name, owner)
				if s, err := found.Status(within(t, time.Minute)); err != nil || s.State != sshexec.JobRunning {
					t.Fatalf("found: %+v, %v", s, err)
				}
				job, err := host.StartJob(within(t, time.Minute), name, patient(file, asRoot))
				must(t, err)
				if _, err := host.StartJob(within(t, time.Minute), name, patient("other", asRoot)); !errors.Is(err, sshexec.ErrJobExists) {
					t.Errorf("another command under its name: %v", err)
				}
				if out := root(t, machine, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; cat /var/lib/sshexec/jobs/*/* /home/*/.local/state/sshexec/jobs/*/* 2>/dev/null; true"); strings.Contains(out, "canary") {
					t.Errorf("the secret is to be seen on the host: %q", out)
				}

				var out bytes.Buffer
				followed := make(chan error, 1)
				go func() {
					_, err := found.Follow(within(t, time.Minute), &out, 0)
					followed <- err
				}()
				for range 2 {
					await(t, "the follower to be connected", func() bool {
						if len(followed) > 0 {
							t.Fatalf("the follower ended: %v", <-followed)
						}
						return sessions(t, machine) > 0
					})
					must(t, machine.CutConnections(within(t, time.Minute)))
					must(t, machine.RestartSSH(within(t, time.Minute)))
				}
				root(t, machine, "touch", "/go-"+file)
				must(t, <-followed)
				if want := "begun 1\nended canary's secret\n"; out.String() != want {
					t.Errorf("got %q, want %q", out.String(), want)
				}
				exit, ok := errors.AsType[*sshexec.ExitError](job.Wait(within(t, time.Minute)))
				if !ok || exit.Code != 7 || !strings.HasSuffix(exit.Stderr, "ended ***\n") {
					t.Errorf("got %#v", exit)
				}
				must(t, job.Remove(within(t, time.Minute)))
				if left, err := host.Jobs(within(t, time.Minute), owner); err != nil || len(left) != 0 {
					t.Errorf("left: %+v, %v", left, err)
				}
			})
		}
	})
}

// TestJobIsCancelled: nothing that a job started is left, wherever it went.
func TestJobIsCancelled(t *testing.T) {
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, machine *vmhost.Host) {
		for owner, asRoot := range owners {
			t.Run("of "+owner, func(t *testing.T) {
				job, err := host.StartJob(within(t, time.Minute), "stubborn", sshexec.Command{Root: asRoot, Grace: 300 * time.Millisecond,
					Shell: `setsid sleep 600 & (trap "" TERM; sleep 600; sleep 600) & env -i sleep 600 & sleep 600; wait`})
				must(t, err)
				await(t, "the job to start all", func() bool { return sleeping(t, machine) == 4 })
				must(t, job.Cancel(within(t, time.Minute)))
				if n := sleeping(t, machine); n != 0 {
					t.Errorf("%d processes are left: %s", n, processes(t, machine))
				}
				if s, err := job.Status(within(t, time.Minute)); err != nil || s.State != sshexec.JobEnded || s.Code == 0 {
					t.Errorf("got %+v, %v", s, err)
				}
				must(t, job.Remove(within(t, time.Minute)))
			})
		}
	})
}

// TestJobIsLostWithItsHost: after a reboot of the host, sshexec does not take a job from before the reboot for a running
// one, although another process may have its process id. The job can be started again.
func TestJobIsLostWithItsHost(t *testing.T) {
	onEveryKind(t, func(t *testing.T, host *sshexec.Host, machine *vmhost.Host) {
		for owner, asRoot := range owners {
			t.Run("of "+owner, func(t *testing.T) {
				c := sshexec.Command{Argv: []string{"sleep", "600"}, Root: asRoot}
				job, err := host.StartJob(within(t, time.Minute), "long", c)
				must(t, err)
				waited := make(chan error, 1)
				go func() { waited <- job.Wait(within(t, time.Minute)) }()
				await(t, "the job to begin", func() bool { return sleeping(t, machine) == 1 })
				must(t, machine.Reboot())
				if err := <-waited; !errors.Is(err, sshexec.ErrJobLost) {
					t.Fatalf("got %v", err)
				}
				must(t, job.Remove(within(t, time.Minute)))
				job, err = host.StartJob(within(t, time.Minute), "long", c)
				must(t, err)
				must(t, job.Cancel(within(t, time.Minute)))
				must(t, job.Remove(within(t, time.Minute)))
			})
		}
	})
}

// TestJobOutlivesTheService: where systemd ends all that belongs to sshd, a job of root does not.
func TestJobOutlivesTheService(t *testing.T) {
	host, machine := connect(t, vmhost.Spec{Systemd: true}, sshexec.Options{})
	job, err := host.StartJob(within(t, time.Minute), "long", sshexec.Command{Argv: []string{"sleep", "600"}, Root: true})
	must(t, err)
	root(t, machine, "systemctl", "kill", "--kill-whom=all", "--signal=KILL", "ssh")
	must(t, machine.RestartSSH(within(t, time.Minute)))
	if s, err := job.Status(within(t, time.Minute)); err != nil || s.State != sshexec.JobRunning {
		t.Errorf("got %+v, %v", s, err)
	}
	must(t, job.Cancel(within(t, time.Minute)))
}

// childStart is what a child that starts a job needs to know.
type childStart struct {
	Address, HostKey, Name, File string
	Root                         bool
}

// childStartVariable makes this test binary a child that starts a job and waits to be killed.
const childStartVariable = "VNFKIT_E2E_CHILD_START"

// startInChild starts a job in another process, and kills that with SIGKILL.
func startInChild(t *testing.T, machine *vmhost.Host, s childStart) {
	t.Helper()
	var err error
	s.Address = machine.Address.String()
	s.HostKey, err = machine.HostKey()
	must(t, err)
	text, err := json.Marshal(s)
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	child := exec.CommandContext(within(t, time.Minute), self)
	child.Env = append(os.Environ(), childStartVariable+"="+string(text))
	said, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	line := make([]byte, 200)
	n, _ := said.Read(line)
	if got := string(line[:n]); got != "started\n" {
		t.Errorf("the child: %s", got)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
}

// runStart is the main function of a child that starts a job.
func runStart(text string) int {
	var s childStart
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Println(err)
		return 1
	}
	policy, err := sshexec.PinnedHostKeys(s.HostKey)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	host := sshexec.NewPool(sshexec.Options{}).Host(sshexec.Target{Addr: s.Address, User: user, HostKeys: policy,
		Auth: []sshexec.Auth{sshexec.Password(password)}, Sudo: sshexec.SudoPassword(password)})
	if _, err := host.StartJob(ctx, s.Name, patient(s.File, s.Root)); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	<-ctx.Done()
	return 1
}
