package sshexec_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

// once returns a command that records its run in a file of its directory.
func once(remote *shellHost) sshexec.Command {
	return sshexec.Command{Shell: `echo ran >>runs; cat`, Dir: remote.home, Stdin: strings.NewReader("input")}
}

func runs(t *testing.T, remote *shellHost) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(remote.home, "runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// TestJobStartedByManyAtOnce starts one job concurrently, on a host where every step is slow and each start creates two supervisors.
func TestJobStartedByManyAtOnce(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	bin := filepath.Join(remote.home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil { //nolint:gosec // the user of the host runs these programs
		t.Fatal(err)
	}
	for program, text := range map[string]string{
		"mv": "sleep 0.2; exec mv", "rm": "sleep 0.2; exec rm", "setsid": "setsid \"$@\"; exec setsid",
	} {
		text = "#!/bin/sh\nPATH=${PATH#*:}; " + text + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(bin, program), []byte(text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	remote.path = bin + ":"
	ctx := withinMinutes(t)
	var started sync.WaitGroup
	for range 4 {
		started.Go(func() {
			job, err := host.StartJob(ctx, "j", once(remote))
			if err == nil {
				err = job.Wait(ctx)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	if n := runs(t, remote); n != 1 {
		t.Errorf("the command ran %d times", n)
	}
	if diff := cmp.Diff([]string{"j"}, remote.kept(t)); diff != "" {
		t.Error(diff)
	}
	if left, err := filepath.Glob(remote.jobDir("j") + "/.*"); err != nil || len(left) > 0 {
		t.Errorf("the directory of the job contains %q, %v", left, err)
	}
}

// cutProgram replaces a program of the host. At its turn it kills its process group: the group of the session, which interrupts a
// start, or the group of the supervisor with its command.
const cutProgram = `#!/bin/sh
path=$PATH; PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; program=$(command -v %[3]s)
n=1; while ! mkdir "%[1]s/$n" 2>/dev/null; do n=$((n + 1)); done
if [ $n = %[2]d ]; then tr '\000' '\n' </proc/$PPID/cmdline | grep -x -e sshexec-job -e "echo ran .*" >"%[1]s/who"; kill -s KILL 0; fi
PATH=$path; exec "$program" "$@"
`

// cutAt makes the host kill the process group that runs the n-th program that changes files.
func cutAt(t *testing.T, remote *shellHost, n int) (turns string) {
	t.Helper()
	turns, bin := filepath.Join(remote.home, "turns"), filepath.Join(remote.home, "bin")
	for _, dir := range []string{turns, bin} {
		if err := os.Mkdir(dir, 0o777); err != nil { //nolint:gosec // the user of the host writes there
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // the same
			t.Fatal(err)
		}
	}
	for _, program := range []string{"mkdir", "mv", "ln", "rm", "cat", "setsid"} {
		text := fmt.Sprintf(cutProgram, turns, n, program)
		if err := os.WriteFile(filepath.Join(bin, program), []byte(text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	remote.path = bin + ":"
	return turns
}

// TestJobStartCutAnywhere interrupts a start before each program that it runs on the host. Either the next start succeeds and the
// command has run once, or the supervisor was killed and the job is reported as lost.
func TestJobStartCutAnywhere(t *testing.T) {
	t.Parallel()
	const turns = 20 // more than the number of programs
	var cuts, lost atomic.Int32
	var running sync.WaitGroup // instead of t.Parallel, because the starts mostly wait
	for n := 1; n <= turns; n++ {
		running.Go(func() {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				cut, gone := startCutAt(t, n)
				if cut {
					cuts.Add(1)
				}
				if gone {
					lost.Add(1)
				}
			})
		})
	}
	running.Wait()
	if cuts.Load() < 12 || cuts.Load() == turns || lost.Load() == 0 {
		t.Errorf("%d cuts, of which %d lost the job", cuts.Load(), lost.Load())
	}
}

func startCutAt(t *testing.T, n int) (cut, lost bool) {
	host, remote := jobHost(t)
	turns := cutAt(t, remote, n)
	_, first := host.StartJob(withinMinutes(t), "j", once(remote))
	remote.path = ""
	job, err := host.StartJob(withinMinutes(t), "j", once(remote))
	if err != nil {
		t.Fatalf("%v, then %v", first, err)
	}
	err = job.Wait(withinMinutes(t))
	who, none := os.ReadFile(filepath.Join(turns, "who"))
	lost = errors.Is(err, sshexec.ErrJobLost) && len(who) > 0
	if n := runs(t, remote); n > 1 || !lost && (n != 1 || err != nil) {
		t.Errorf("%v, then %v; the command ran %d times", first, err, n)
	}
	if left, err := filepath.Glob(remote.jobDir("j") + "/.*"); err != nil || len(left) > 0 {
		t.Errorf("the directory of the job contains %q, %v", left, err)
	}
	return none == nil, lost
}

// TestJobInputCut checks that a part of the input is never taken for the whole input.
func TestJobInputCut(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	c := once(remote)
	ctx := withinMinutes(t)
	half := strings.NewReader(strings.Repeat("x", 100_000))
	c.Stdin = io.MultiReader(half, readerFunc(func([]byte) (int, error) {
		remote.cut()
		for remote.connected() && ctx.Err() == nil { // wait until the host has noticed the end
			time.Sleep(time.Millisecond)
		}
		return 0, io.EOF
	}))
	if _, err := host.StartJob(ctx, "j", c); !errors.Is(err, sshexec.ErrDisconnected) {
		t.Errorf("got %v", err)
	}
	for _, name := range remote.kept(t) { // the link contains no input, and prevents a late script from storing input
		if to, err := os.Readlink(filepath.Join(remote.jobDir(""), name)); to != "cut" {
			t.Errorf("%q is left: %v", name, err)
		}
	}
	if out, code := outcome(t, host, "j", once(remote)); out != "input" || code != 0 || runs(t, remote) != 1 {
		t.Errorf("got %q, %d", out, code)
	}
}

// TestJobSurvives checks that a job survives the end of the pool and of every process of the session.
func TestJobSurvives(t *testing.T) {
	t.Parallel()
	_, remote := jobHost(t)
	pool := sshexec.NewPool(sshexec.Options{})
	c := sshexec.Command{Shell: "while [ ! -e go ]; do sleep 0.05; done; echo survived; exit 3", Dir: remote.home}
	if _, err := pool.Host(remote.target()).StartJob(withinMinutes(t), "a/b", c); err != nil {
		t.Fatal(err)
	}
	remote.killSessions()
	remote.cut()
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(remote.home, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	job := newPool(t, sshexec.Options{}).Host(remote.target()).Job("a/b", "")
	var out bytes.Buffer
	if _, err := job.Follow(withinMinutes(t), &out, 0); err != nil || out.String() != "survived\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	var exit *sshexec.ExitError
	if err := job.Wait(withinMinutes(t)); !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("got %v", err)
	}
}

// TestJobSecrets looks for secrets on command lines and on the disk of the host once a job runs.
func TestJobSecrets(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	secret := "canary-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	c := sshexec.Command{Shell: `read -r line; [ "$line" = "$TOKEN" ] && echo equal; exec sleep 60`, Env: map[string]string{"TOKEN": secret}, Stdin: strings.NewReader(secret + "\n")}
	job, err := host.StartJob(withinMinutes(t), "j", c)
	if err != nil {
		t.Fatal(err)
	}
	remote.mu.Lock()
	lines := strings.Join(remote.lines, "\n")
	remote.mu.Unlock()
	if strings.Contains(lines, secret) {
		t.Error("a secret is on a command line that was sent")
	}
	for pid, args := range processes(t) {
		if strings.Contains(args, secret) {
			t.Errorf("a secret is on the command line of process %s", pid)
		}
	}
	err = filepath.WalkDir(remote.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // only the test uses its directory
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("a secret is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	info, err := os.Stat(remote.jobDir("j"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := job.Cancel(withinMinutes(t)); err != nil {
		t.Error(err)
	}
	var out bytes.Buffer
	if _, err := job.Follow(withinMinutes(t), &out, 0); err != nil || out.String() != "equal\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// processes returns the command lines of this machine.
func processes(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		text, _ := os.ReadFile(f) // the process may have ended
		all[filepath.Base(filepath.Dir(f))] = strings.ReplaceAll(string(text), "\x00", " ")
	}
	return all
}

// TestJobWhereNothingCanBeWritten checks that the error names the reason if the host cannot store the job.
func TestJobWhereNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	host, remote := jobHost(t)
	if err := os.WriteFile(filepath.Join(remote.home, ".local"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := host.StartJob(withinMinutes(t), "j", once(remote))
	if err == nil || !strings.Contains(err.Error(), ".local") || len(err.Error()) > 500 {
		t.Errorf("got %v", err)
	}
}
