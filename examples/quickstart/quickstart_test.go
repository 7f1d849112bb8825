package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/internal/fulltest"
)

// asProgram is the environment variable that makes the test binary run the program, which kills and restarts itself.
const asProgram = "VNFKIT_QUICKSTART_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program returns a command that runs the quickstart.
func program(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

// run runs the quickstart to its end and returns what it printed.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := program(ctx, t, args...).CombinedOutput()
	return string(out), err
}

func wantInOrder(t *testing.T, out string, wanted ...string) {
	t.Helper()
	rest := out
	for _, w := range wanted {
		_, after, found := strings.Cut(rest, w)
		if !found {
			t.Fatalf("%q is not in the output, or out of order:\n%s", w, out)
		}
		rest = after
	}
}

func TestWholeLifeWithCrash(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "life.svg")
	out, err := run(t, "-timeline", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	picture, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wantInOrder(t, string(picture), "<svg ", "INSTANTIATE COMPLETED", "masterNode-0", ">init<", "SCALE COMPLETED", "attempt 2", "HEAL COMPLETED", "TERMINATE COMPLETED")
	wantInOrder(t, out, "INSTANTIATE COMPLETED", "paused before scale_end/join", "was killed with SIGKILL before scale_end/join", "resuming it",
		"done before", "scale_end/packages", "SCALE COMPLETED", "SCALE COMPLETED", "heal_end/join", "HEAL COMPLETED", "TERMINATE COMPLETED",
		"everything is done", "operation", "INSTANTIATE", "TERMINATE    COMPLETED")
}

// TestKilledAnywhere kills the program with SIGKILL before a step, or interrupts it there, and runs it again.
func TestKilledAnywhere(t *testing.T) {
	for _, c := range []struct {
		before  string
		signal  os.Signal
		args    []string
		variant bool // another case uses the same signal, so this case runs only with VNFKIT_FULL
	}{
		{"instantiate/create-vm", syscall.SIGKILL, nil, true},
		{"init", syscall.SIGKILL, nil, true},
		{"instantiate_end/join", syscall.SIGKILL, []string{"-control-plane", "3", "-workers", "1"}, false},
		{"drain", os.Interrupt, nil, false},
		{"replace-vm", syscall.SIGKILL, nil, true},
		{"heal_end/join", os.Interrupt, nil, true},
		{"terminate/delete-vm", syscall.SIGKILL, nil, true},
	} {
		t.Run(c.before, func(t *testing.T) {
			t.Parallel()
			if c.variant {
				fulltest.SkipVariant(t)
			}
			state := t.TempDir()
			args := append([]string{"-state", state}, c.args...)
			first := program(t.Context(), t, append([]string{"-pause-before", c.before}, args...)...)
			var said bytes.Buffer
			first.Stdout, first.Stderr = &said, &said
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			awaitFile(t, filepath.Join(state, "paused"))
			if err := first.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if err := first.Wait(); err == nil {
				t.Errorf("exit code 0 although the program was interrupted:\n%s", said.String())
			}
			if c.signal == os.Interrupt && (first.ProcessState.ExitCode() != cli.Interrupted || !strings.HasSuffix(said.String(), "quickstart: interrupted\n")) {
				t.Errorf("exit code %d:\n%s", first.ProcessState.ExitCode(), said.String())
			}
			if told := strings.Contains(said.String(), "run again with -state "+state+" to continue"); told != (c.signal == os.Interrupt) {
				t.Errorf("how to continue is in the output: %t\n%s", told, said.String())
			}
			checkPrivate(t, state)
			out, err := run(t, args...)
			if err != nil {
				t.Fatalf("second run: %v\n%s\nfirst run:\n%s", err, out, said.String())
			}
			wantInOrder(t, out, "resuming it", "TERMINATE COMPLETED", "everything is done")
			if hosts, err := os.ReadDir(filepath.Join(state, "world", "hosts")); err != nil || len(hosts) != 0 {
				t.Errorf("%d machines are left, %v", len(hosts), err)
			}
		})
	}
}

// checkPrivate checks that only the owner can read the files of the program, whatever the umask and the mode of the state directory are.
func checkPrivate(t *testing.T, state string) {
	t.Helper()
	entries, err := os.ReadDir(state)
	if err != nil || len(entries) < 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
}

// TestKilledAtRandom repeatedly kills the program with SIGKILL, each time after some more lines of its output and a random time, up to five
// times in the life of a VNF. VNFKIT_KILLS is the total number of kills. VNFKIT_SEED repeats the random times of an earlier run, which
// printed this value.
func TestKilledAtRandom(t *testing.T) {
	fulltest.Only(t, "TestKilledAnywhere kills the program at one step")
	kills := killsInLife
	if n, err := strconv.Atoi(os.Getenv("VNFKIT_KILLS")); err == nil {
		kills = n
	}
	seed, err := strconv.ParseUint(os.Getenv("VNFKIT_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64() //nolint:gosec // not a secret
	}
	t.Logf("VNFKIT_SEED=%d", seed)
	for life := range (kills + killsInLife - 1) / killsInLife {
		t.Run(strconv.Itoa(life), func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			args := []string{"-state", state}
			if life%2 == 1 {
				args = append(args, "-control-plane", "3", "-workers", "1")
			}
			var said strings.Builder
			random := rand.New(rand.NewPCG(seed, uint64(life))) //nolint:gosec // not a secret
			for range killsInLife {
				lines, moment := random.IntN(linesOfLife/killsInLife), time.Duration(random.Int64N(int64(50*time.Millisecond)))
				fmt.Fprintf(&said, "== killed after %d lines and %s\n", lines, moment)
				if err := runUntil(t, &said, lines, moment, args...); err != nil {
					t.Fatalf("%v\n%s", err, said.String())
				}
			}
			out, err := run(t, args...)
			if err != nil || !strings.Contains(out, "everything is done") {
				t.Fatalf("%v\n%s\n== not killed\n%s", err, said.String(), out)
			}
			if hosts, err := os.ReadDir(filepath.Join(state, "world", "hosts")); err != nil || len(hosts) != 0 {
				t.Errorf("%d machines are left, %v", len(hosts), err)
			}
		})
	}
}

const (
	killsInLife = 5
	linesOfLife = 100 // approximate number of lines of the program without kills
)

// runUntil runs the program and kills it after some lines of its output and the time moment. It returns an error if the program fails
// before.
func runUntil(t *testing.T, said io.Writer, lines int, moment time.Duration, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p := program(ctx, t, args...)
	p.Stderr = said
	out, err := p.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	printed := bufio.NewScanner(out)
	for n := 0; n < lines && printed.Scan(); n++ {
		fmt.Fprintln(said, printed.Text())
	}
	time.Sleep(moment)
	killed := p.Process.Kill()
	_, err = io.Copy(said, out)
	if state := p.Wait(); errors.Is(killed, os.ErrProcessDone) || p.ProcessState.Exited() {
		return errors.Join(err, state)
	}
	return errors.Join(err, killed)
}

func awaitFile(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(name); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the file %s was not created within a minute", name)
		}
	}
}

func TestWrongInput(t *testing.T) {
	t.Parallel()
	request := filepath.Join(t.TempDir(), "request.json")
	content := `{"flavourId": "simple", "additionalParams": {"k8s_cluster_installation_param": {
		"master_node": {"ssh_cp_name": "nowhere", "username": "ubuntu", "password": "ubuntu", "pod_cidr": "ten", "cluster_cp_name": "masterNode_CP1"},
		"cni_manifest_path": "nowhere.yaml",
		"proxy": {"http_proxy": "http://user1:password1@host1:port1", "https_proxy": "https://user2:password2@host2:port2"}}}}`
	if err := os.WriteFile(request, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "-state", t.TempDir(), "-request", request)
	if err == nil {
		t.Fatalf("exit code 0:\n%s", out)
	}
	for _, fault := range []string{`master_node.ssh_cp_name: "nowhere"`, `master_node.pod_cidr: "ten"`, "worker_node.username: is required",
		"worker_node.password: is required", "proxy.http_proxy: the port is not a number", `cni_manifest_path: "nowhere.yaml": the package has no such file`} {
		if !strings.Contains(out, fault) {
			t.Errorf("the fault %q is not reported:\n%s", fault, out)
		}
	}
	if strings.Contains(out, "password1") {
		t.Errorf("a password is in the output:\n%s", out)
	}
}

// TestExitCodes checks that a fault ends the program with the code that the help has, after one line about it, also if a child of the
// program has found the fault.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-control-plane", "2"}, cli.Usage, "quickstart: -control-plane 2 -workers 2: the sample has"},
		{[]string{"-workers", "0"}, cli.Usage, "quickstart: -control-plane 1 -workers 0: the sample has"},
		{[]string{"-fast"}, cli.Usage, "quickstart: flag provided but not defined: -fast"},
		{[]string{"now"}, cli.Usage, `quickstart: unknown word "now"`},
		{[]string{"-timeline", "/nonexistent/life.svg"}, cli.Usage, "quickstart: -timeline: open /nonexistent/life.svg: "},
		{[]string{"-timeline", "life.svg", "-plan"}, cli.Usage, "quickstart: -timeline draws operations, and -plan runs none"},
		{[]string{"-package", "/nonexistent"}, cli.Failed, "/nonexistent"},
		{[]string{"-request", "/nonexistent"}, cli.Failed, "/nonexistent"},
	} {
		for _, state := range []string{"", filepath.Join(t.TempDir(), "state")} {
			args := c.args
			if state != "" {
				args = append([]string{"-state", state}, args...)
			}
			out, err := run(t, args...)
			exit, ended := errors.AsType[*exec.ExitError](err)
			if !ended || exit.ExitCode() != c.code || strings.Count(out, "quickstart: ") != 1 || !strings.Contains(out, c.says) || strings.Contains(out, "exit status") {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
			if _, err := os.Stat(state); c.code == cli.Usage && err == nil {
				t.Errorf("%q: the state directory exists", args)
			}
		}
	}
}

// TestInterrupted interrupts a run that shows a crash. Its children continue nothing, so no output names a state directory.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	p := program(t.Context(), t)
	var errs strings.Builder
	p.Stderr = &errs
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "create-vm") {
			_ = p.Process.Signal(os.Interrupt)
			break
		}
	}
	_, err = io.Copy(&said, out)
	_ = p.Wait()
	if code := p.ProcessState.ExitCode(); err != nil || code != cli.Interrupted || strings.Contains(said.String(), "-state") {
		t.Errorf("exit code %d, %v:\n%s", code, err, said.String())
	}
	if errs.String() != "quickstart: interrupted\n" {
		t.Errorf("it says %q", errs.String())
	}
}

// TestPlan checks that -plan prints the tasks of the next operation, and that the next run begins with this operation.
func TestPlan(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	for range 2 {
		out, err := run(t, "-state", state, "-plan")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		wantInOrder(t, out, "instantiate the VNF from its package", "add", "masterNode-0", "kubeadm init", "join", "workerNode-1", "register-vim")
	}
	if out, err := run(t, "-plan"); err != nil || !strings.Contains(out, "kubeadm init") {
		t.Errorf("without a state: %v\n%s", err, out)
	}
	out, err := run(t, "-plan", "-json", "-workers", "3")
	var plan struct {
		Operation string `json:"operation"`
		Tasks     []struct {
			Name, Machine string
		} `json:"tasks"`
	}
	if failed := json.Unmarshal([]byte(out), &plan); err != nil || failed != nil || plan.Operation != "INSTANTIATE" || len(plan.Tasks) < 10 || !strings.Contains(fmt.Sprint(plan.Tasks), "{join workerNode-2}") {
		t.Errorf("as JSON: %v, %v\n%s", err, failed, out)
	}
}
