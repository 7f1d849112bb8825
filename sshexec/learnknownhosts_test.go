package sshexec_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func learn(t *testing.T, file string) sshexec.HostKeyPolicy {
	t.Helper()
	policy, err := sshexec.LearnKnownHosts(file)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLearnKnownHosts checks that the first key is stored with a hashed name, that later connections use it, and that ssh-keygen
// finds it.
func TestLearnKnownHosts(t *testing.T) {
	t.Parallel()
	remote := sshtest.Start(t, sshtest.Config{})
	file := filepath.Join(t.TempDir(), "known_hosts")
	to := target(t, remote)
	to.HostKeys = learn(t, file)
	if err := newPool(t, sshexec.Options{}).Host(to).Wait(withinMinutes(t)); err != nil {
		t.Fatal(err)
	}
	written := content(t, file)
	if !strings.HasPrefix(written, "|1|") || strings.Contains(written, "127.0.0.1") || strings.Count(written, "\n") != 1 {
		t.Errorf("written %q", written)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	to.HostKeys = learn(t, file) // as in another process
	if err := newPool(t, sshexec.Options{}).Host(to).Wait(withinMinutes(t)); err != nil || content(t, file) != written {
		t.Errorf("the second connection: %v, file %q", err, content(t, file))
	}
	if keygen, err := exec.LookPath("ssh-keygen"); err == nil {
		out, err := exec.CommandContext(t.Context(), keygen, "-F", knownhosts.Normalize(remote.Addr()), "-f", file).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "found: line 1") {
			t.Errorf("ssh-keygen -F: %v\n%s", err, out)
		}
	}
}

// TestLearnKnownHostsChanged checks that another key is refused and not stored until ForgetKey has removed the old key.
func TestLearnKnownHostsChanged(t *testing.T) {
	t.Parallel()
	remote := sshtest.Start(t, sshtest.Config{})
	other := sshtest.NewKey(t, ssh.KeyAlgoED25519)
	file := filepath.Join(t.TempDir(), "known_hosts")
	name := knownhosts.Normalize(remote.Addr())
	old := knownhosts.HashHostname(name) + " " + strings.TrimSpace(other.Public) + "\n"
	rest := "# a comment\n@revoked * " + strings.TrimSpace(other.Public) + "\nelsewhere " + strings.TrimSpace(other.Public) + "\n"
	if err := os.WriteFile(file, []byte(rest[:12]+old+name+",alias "+strings.TrimSpace(other.Public)+"\n"+rest[12:]+"last "+strings.TrimSpace(other.Public)), 0o640); err != nil {
		t.Fatal(err)
	}
	before := content(t, file)
	to := target(t, remote)
	to.HostKeys = learn(t, file)
	host := newPool(t, sshexec.Options{}).Host(to)
	err := host.Wait(withinMinutes(t))
	if refused, ok := errors.AsType[*sshexec.HostKeyError](err); !ok || len(refused.Known) == 0 || content(t, file) != before {
		t.Fatalf("error %v, file %q", err, content(t, file))
	}
	if err := host.ForgetKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := rest + "last " + strings.TrimSpace(other.Public); content(t, file) != want {
		t.Errorf("without the machine: %q, want %q", content(t, file), want)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if err := host.Wait(withinMinutes(t)); err != nil || strings.Count(content(t, file), "\n") != strings.Count(rest, "\n")+2 {
		t.Errorf("error %v, file %q", err, content(t, file))
	}
}

// TestLearnKnownHostsAtOnce checks that no entry is lost and no entry is stored twice if several processes connect to many new machines
// at the same time.
func TestLearnKnownHostsAtOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "known_hosts")
	var all sync.WaitGroup
	for i := range 6 {
		remote := sshtest.Start(t, sshtest.Config{Name: fmt.Sprint("node", i)})
		for range 3 {
			to := target(t, remote)
			to.HostKeys = learn(t, file)
			host := newPool(t, sshexec.Options{}).Host(to)
			all.Go(func() {
				if err := host.Wait(withinMinutes(t)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if got := strings.Count(content(t, file), "\n"); got != 6 {
		t.Errorf("%d lines, want 6:\n%s", got, content(t, file))
	}
}

func TestLearnKnownHostsRefusesFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte("nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(file, "below"), t.TempDir()} {
		if _, err := sshexec.LearnKnownHosts(name); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// FuzzForgetKey checks that forgetting a machine removes all entries of this machine and does not change any other line.
func FuzzForgetKey(f *testing.F) {
	key := strings.TrimSpace(sshtest.NewKey(f, ssh.KeyAlgoED25519).Public)
	f.Add("a "+key+"\n|1|x|y "+key+"\n\n#c\n", "b "+key)
	f.Add("", "|1||= ")
	f.Add("|1|AAAA|AAAA\n", "@revoked * "+key)
	f.Fuzz(func(t *testing.T, before, after string) {
		const host = "[10.0.0.1]:2222"
		entry := knownhosts.HashHostname(host) + " " + key + "\n"
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		if got := string(sshexec.WithoutHost([]byte(before+entry+after), host)); got != string(sshexec.WithoutHost([]byte(before+after), host)) {
			t.Errorf("%q", got)
		}
		if strings.Contains(before+after, host) || strings.Contains(before+after, "|1|") {
			return
		}
		if got := string(sshexec.WithoutHost([]byte(before+entry+after), host)); got != before+after {
			t.Errorf("%q became %q", before+after, got)
		}
	})
}
