package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/e2e/kube"
	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

const (
	ansibleUser = "ansible"
	// ansiblePassword is as hostile as that of the nodes, and another one.
	ansiblePassword = `se'cr"et{{ x }}%$(id)`
	kubesprayRoot   = "/home/" + ansibleUser + "/kubespray"
	// ansibleRuns is where the Ansible server keeps what was run: one line for each, arguments separated by blanks.
	ansibleRuns = "/var/log/ansible-runs"
)

// runRecorder stands before the real program in PATH.
const runRecorder = `#!/bin/sh
[ "$*" = --version ] || echo "$@" >>` + ansibleRuns + `
exec /usr/bin/ansible-playbook "$@"
`

// needAnsibleServer skips the test when the run is not about Ansible, and returns what machines are made from.
func needAnsibleServer(t testing.TB) kube.Parts {
	t.Helper()
	p := needParts(t, "kubespray")
	for _, program := range []string{"/usr/bin/ansible-playbook", "sshpass"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the Ansible server has the programs of this machine: .ci/install internal/e2e/kubespray/packages.txt: %v", err)
		}
	}
	return p
}

// ansibleServer is a machine with Ansible and playbooks of kubespray's contract.
type ansibleServer struct {
	*sshexec.Host
	machine *vmhost.Host
	before  string // the files that were there before
}

// newAnsibleServer makes one with the playbooks that stand for kubespray's.
func (y *yard) newAnsibleServer() *ansibleServer {
	y.t.Helper()
	return y.ansibleServerWith(os.DirFS("kubespray"), map[string]string{
		"roles/network/files/flannel.yaml": string(read(y.t, packageDir+"/Files/kubernetes/cni.yaml"))})
}

// ansibleServerWith makes one with the playbooks of a tree and more files. Its programs are those of the machine that the tests run on.
func (y *yard) ansibleServerWith(tree fs.FS, more map[string]string) *ansibleServer {
	y.t.Helper()
	s := y.ansibleMachine(tree, more, netip.Addr{})
	y.connect(s)
	return s
}

// ansibleMachine is a server that the test is not connected to. If address is not valid, the server has a free one.
func (y *yard) ansibleMachine(tree fs.FS, more map[string]string, address netip.Addr) *ansibleServer {
	y.t.Helper()
	files := map[string]string{"/usr/local/bin/ansible-playbook": runRecorder, ansibleRuns: ""}
	must(y.t, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" && d.IsDir():
			return fs.SkipDir
		}
		if info, err := fs.Stat(tree, name); err != nil || !info.Mode().IsRegular() { // links to modules are followed
			return err
		}
		content, err := fs.ReadFile(tree, name)
		files[path.Join(kubesprayRoot, name)] = string(content)
		return err
	}))
	for name, content := range more {
		files[path.Join(kubesprayRoot, name)] = content
	}
	machine, err := site.network.Create(y.t.Context(), vmhost.Spec{Name: "ansible", Address: address, User: ansibleUser, Password: ansiblePassword, Systemd: true, Files: files})
	must(y.t, err)
	y.t.Cleanup(func() { must(y.t, machine.Close()) })
	s := &ansibleServer{machine: machine}
	ctx := within(y.t, time.Minute)
	must(y.t, machine.Listening(ctx))
	_, err = machine.Exec(ctx, "sh", "-ec", `chmod 755 /usr/local/bin/ansible-playbook; chmod 666 "$1"`, "sh", ansibleRuns)
	must(y.t, err)
	s.before = s.files(y.t)
	y.t.Cleanup(func() {
		if y.t.Failed() {
			out, err := s.machine.Exec(context.Background(), "sh", "-c", `cat "$1"; tail -n 40 /home/*/.vnfkit/kubespray/*/logs/*; find /home/*/.vnfkit; ps aux`, "sh", ansibleRuns)
			y.t.Log(out, err)
		}
	})
	return s
}

// connect connects the test to a server.
func (y *yard) connect(s *ansibleServer) {
	y.t.Helper()
	target := targetOf(y.t, s.machine)
	target.Auth = []sshexec.Auth{sshexec.Password(ansiblePassword)}
	target.User = ansibleUser
	s.Host = y.ssh.Host(target)
	must(y.t, s.Wait(within(y.t, time.Minute)))
}

// files lists what is where users of the server may write to, but for what Ansible keeps for itself in the home directory,
// and for directories that instances share.
func (s *ansibleServer) files(t testing.TB) string {
	t.Helper()
	out, err := s.machine.Exec(within(t, time.Minute), "sh", "-c",
		`find /home/`+ansibleUser+` /tmp /var/tmp -xdev \( -path '*/.ansible' -o -path '*/systemd-private-*' \) -prune -o \( ! -type d -o -path '*/.vnfkit/kubespray/*' \) -print | sort`)
	must(t, err)
	return out
}

// runs are the command lines of ansible-playbook, in their order.
func (s *ansibleServer) runs(t testing.TB) []string {
	t.Helper()
	text, err := afero.ReadFile(s.machine.FS(), ansibleRuns)
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// count is how often a playbook was run.
func (s *ansibleServer) count(t testing.TB, playbook string) (n int) {
	t.Helper()
	for _, line := range s.runs(t) {
		if strings.Contains(line+" ", "/"+playbook+" ") || strings.Contains(" "+line+" ", " "+playbook+" ") {
			n++
		}
	}
	return n
}

// play runs a playbook in an SSH session, as a user of the machine would, and returns its output.
func (s *ansibleServer) play(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := s.Exec(ctx, sshexec.Command{Argv: append([]string{"env", "-C", kubesprayRoot, "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", "ansible-playbook",
		"--become", "--become-user=root"}, args...), Stdout: &out, Stderr: &out})
	if err != nil {
		return out.String(), fmt.Errorf("%w\n%s", err, out.String())
	}
	return out.String(), nil
}
