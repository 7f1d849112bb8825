package sshtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func Example() {
	host, err := sshtest.New(sshtest.Config{
		Name: "node1",
		Commands: map[string]sshtest.Command{
			"kubeadm": func(_ context.Context, p *sshtest.Process) int {
				_, _ = fmt.Fprintf(p.Stdout, "%s runs %v\n", p.User, p.Args)
				return 0
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = host.Close() }()

	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(host.PublicKey()))
	if err != nil {
		log.Fatal(err)
	}
	client, err := ssh.Dial("tcp", host.Addr(), &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, HostKeyCallback: ssh.FixedHostKey(key),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	session.Stdout = os.Stdout
	fmt.Println(session.Run(`hostname; sudo kubeadm init`))
	fmt.Println(len(host.Commands()), "programs ran")
	// Output:
	// node1
	// root runs [kubeadm init]
	// <nil>
	// 3 programs ran
}

// start makes a host for an example.
func start(c sshtest.Config) *sshtest.Host {
	host, err := sshtest.New(c)
	if err != nil {
		log.Fatal(err)
	}
	return host
}

// dial logs in as ubuntu with the methods in auth and, after them, the password.
func dial(host *sshtest.Host, auth ...ssh.AuthMethod) (*ssh.Client, error) {
	return ssh.Dial("tcp", host.Addr(), &ssh.ClientConfig{
		User: "ubuntu", Auth: append(auth, ssh.Password("ubuntu")),
		HostKeyCallback: ssh.InsecureIgnoreHostKey(), //nolint:gosec // of an example
	})
}

// sh runs a command line and returns its output.
func sh(host *sshtest.Host, line string) (string, error) {
	client, err := dial(host)
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		return "", err
	}
	out, err := session.CombinedOutput(line)
	return string(out), err
}

func ExampleHost_SetFaults() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	host.SetFaults(sshtest.Faults{MaxSessions: 1})
	client, err := dial(host)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	_, first := client.NewSession()
	_, second := client.NewSession()
	fmt.Println(first, second)

	host.SetFaults(sshtest.Faults{})
	_, third := client.NewSession()
	fmt.Println(third)
	// Output:
	// <nil> ssh: rejected: connect failed ("open failed")
	// <nil>
}

// A host stops answering, and the tested program must give up.
func ExampleHost_SetFaults_stall() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	host.SetFaults(sshtest.Faults{StallHandshake: true})
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", host.Addr())
	if err != nil {
		log.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Millisecond))
	_, _, _, err = ssh.NewClientConn(conn, host.Addr(), &ssh.ClientConfig{HostKeyCallback: ssh.InsecureIgnoreHostKey()}) //nolint:gosec // of an example
	fmt.Println(errors.Is(err, os.ErrDeadlineExceeded))
	// Output: true
}

// The connection breaks in the middle of an upload.
func ExampleHost_SetFaults_cutAfter() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	client, err := dial(host)
	if err != nil {
		log.Fatal(err)
	}
	host.SetFaults(sshtest.Faults{CutAfter: 100_000})
	session, err := client.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	session.Stdin = bytes.NewReader(make([]byte, 1<<20))
	err = session.Run("cat >/tmp/upload")
	var exit *ssh.ExitError
	fmt.Println("failed:", err != nil, "ended:", errors.As(err, &exit))
	// Output: failed: true ended: false
}

func ExampleHost_SetFaults_fullDisk() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	host.SetFaults(sshtest.Faults{DiskFull: true, DiskLeft: 4, ReadOnly: []string{"/etc"}})
	out, _ := sh(host, `exec 2>&1; seq 100 | tee /tmp/f >/dev/null; wc -c </tmp/f; sudo touch /etc/f`)
	fmt.Print(out)
	// Output:
	// tee: /tmp/f: No space left on device
	// 4
	// touch: /etc/f: Read-only file system
}

func ExampleHost_OnCommand() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	host.OnCommand(func(r sshtest.Record) {
		if r.Argv[0] == "mv" { // cut the connection just before the upload is renamed
			host.CutConnections()
		}
	})
	_, err := sh(host, "echo x >/tmp/f.new; mv /tmp/f.new /tmp/f")
	_, found := host.FS().Stat("/tmp/f")
	fmt.Println(err != nil, os.IsNotExist(found))
	// Output: true true
}

func ExampleHost_Commands() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	_, _ = sh(host, "echo secret | sudo tee /etc/token >/dev/null")
	for _, r := range host.Commands() {
		fmt.Printf("%s %q in=%q code=%d\n", r.User, r.Argv, r.Stdin(), r.Code)
	}
	// Output:
	// ubuntu ["sudo" "tee" "/etc/token"] in="secret\n" code=0
	// root ["tee" "/etc/token"] in="secret\n" code=0
}

func ExampleHost_Transfers() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	client, err := dial(host)
	if err != nil {
		log.Fatal(err)
	}
	files, err := sftp.NewClient(client)
	if err != nil {
		log.Fatal(err)
	}
	_, _ = files.Create("/tmp/f")
	_ = files.Rename("/tmp/f", "/etc/f")
	for _, t := range host.Transfers() {
		fmt.Println(t.Op, t.Path, t.Target, t.Err)
	}
	// Output:
	// put /tmp/f  <nil>
	// rename /tmp/f /etc/f rename /etc/f: permission denied
}

func ExampleHost_ReplaceHostKey() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	before := host.PublicKey()
	if err := host.ReplaceHostKey(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(host.PublicKey() == before)
	// Output: false
}

func ExampleHost_Reboot() {
	host := start(sshtest.Config{})
	defer func() { _ = host.Close() }()

	// A program that setsid starts outlives the connection, but not a reboot of the host.
	_, _ = sh(host, "setsid sh -c 'echo $$ >/tmp/pid; sleep 600' >/dev/null 2>&1 </dev/null & until [ -s /tmp/pid ]; do sleep 0.01; done")
	out, _ := sh(host, "kill -0 $(cat /tmp/pid) && echo it runs")
	fmt.Print(out)
	if err := host.Reboot(); err != nil {
		log.Fatal(err)
	}
	_, err := sh(host, "kill -0 $(cat /tmp/pid)")
	fmt.Println(err)
	// Output:
	// it runs
	// Process exited with status 1
}

func ExampleScript() {
	t := &notes{} // the *testing.T of the test
	host := start(sshtest.Config{Commands: sshtest.Script(t,
		sshtest.Call{Argv: []string{"kubeadm", "init"}, User: "root", Stdout: "token\n"},
		sshtest.Call{Argv: []string{"kubeadm", "join", "-"}, Stdin: "token\n"},
	)})
	defer func() { _ = host.Close() }()

	out, err := sh(host, `token=$(sudo kubeadm init); echo "$token" | kubeadm join -`)
	fmt.Printf("%q %v\n", out, err)
	fmt.Println(len(t.end()), "faults")
	// Output:
	// "" <nil>
	// 0 faults
}

func ExampleScript_fault() {
	t := &notes{} // the *testing.T of the test
	host := start(sshtest.Config{Commands: sshtest.Script(t,
		sshtest.Call{Argv: []string{"kubeadm", "reset", "--force"}},
	)})
	defer func() { _ = host.Close() }()

	_, _ = sh(host, "kubeadm reset -f")
	fmt.Println(strings.Join(t.end(), "\n"))
	// Output:
	// sshtest: host host: call 1 of the script is another one (- expected, + came):
	//   argv:
	//       "kubeadm"
	//       "reset"
	//     - "--force"
	//     + "-f"
}

func ExampleScriptAnyOrder() {
	t := &notes{} // the *testing.T of the test
	host := start(sshtest.Config{Commands: sshtest.ScriptAnyOrder(t,
		sshtest.Call{Argv: []string{"pull", "a"}}, sshtest.Call{Argv: []string{"pull", "b"}, Code: 1},
	)})
	defer func() { _ = host.Close() }()

	_, err := sh(host, "pull b")
	fmt.Println(err)
	fmt.Println(strings.Join(t.end(), "\n"))
	// Output:
	// Process exited with status 1
	// sshtest: call 1 of the script never came: ["pull" "a"]
}

func ExampleKey_SignUser() {
	t := &notes{} // the *testing.T of the test
	authority, mine := sshtest.NewKey(t, ssh.KeyAlgoED25519), sshtest.NewKey(t, ssh.KeyAlgoED25519)
	host := start(sshtest.Config{TrustedUserCAKeys: []string{authority.Public}})
	defer func() { _ = host.Close() }()

	certificate, _, _, _, err := ssh.ParseAuthorizedKey([]byte(authority.SignUser(t, mine.Public, "ubuntu")))
	if err != nil {
		log.Fatal(err)
	}
	plain, err := ssh.ParsePrivateKey(mine.PEM)
	if err != nil {
		log.Fatal(err)
	}
	signer, err := ssh.NewCertSigner(certificate.(*ssh.Certificate), plain)
	if err != nil {
		log.Fatal(err)
	}
	_, err = dial(host, ssh.PublicKeys(signer))
	fmt.Println(err)
	// Output: <nil>
}

func ExampleKey_SignHost() {
	t := &notes{} // the *testing.T of the test
	authority, key := sshtest.NewKey(t, ssh.KeyAlgoED25519), sshtest.NewKey(t, ssh.KeyAlgoED25519)
	host := start(sshtest.Config{HostKey: key.PEM, HostCertificates: []string{authority.SignHost(t, key.Public, "127.0.0.1")}})
	defer func() { _ = host.Close() }()

	checker := ssh.CertChecker{IsHostAuthority: func(given ssh.PublicKey, _ string) bool {
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(given))) == authority.Public
	}}
	_, err := ssh.Dial("tcp", host.Addr(), &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")},
		HostKeyAlgorithms: []string{ssh.CertAlgoED25519v01}, HostKeyCallback: checker.CheckHostKey,
	})
	fmt.Println(err)
	// Output: <nil>
}

// The host asks for a key first, then for the answers to questions.
func ExampleConfig_twoFactors() {
	t := &notes{} // the *testing.T of the test
	key := sshtest.NewKey(t, ssh.KeyAlgoED25519)
	host := start(sshtest.Config{
		AuthorizedKeys:        []string{key.Public},
		Challenge:             []sshtest.Question{{Prompt: "Code: ", Answer: "123456", Echo: true}},
		AuthenticationMethods: []string{"publickey", "keyboard-interactive"},
	})
	defer func() { _ = host.Close() }()

	signer, err := ssh.ParsePrivateKey(key.PEM)
	if err != nil {
		log.Fatal(err)
	}
	answer := func(_, _ string, prompts []string, _ []bool) ([]string, error) {
		return []string{"123456"}[:len(prompts)], nil
	}
	_, err = dial(host, ssh.PublicKeys(signer), ssh.KeyboardInteractive(answer))
	fmt.Println(err)
	// Output: <nil>
}

func ExampleConfig_jumpHost() {
	inner := start(sshtest.Config{Name: "inner"})
	defer func() { _ = inner.Close() }()
	jump := start(sshtest.Config{Name: "jump", Dial: new(net.Dialer).DialContext})
	defer func() { _ = jump.Close() }()

	client, err := dial(jump)
	if err != nil {
		log.Fatal(err)
	}
	conn, err := client.Dial("tcp", inner.Addr())
	if err != nil {
		log.Fatal(err)
	}
	version := make([]byte, 8)
	_, _ = io.ReadFull(conn, version)
	fmt.Printf("%s\n", version)
	// Output: SSH-2.0-
}

// A host with its own clock, a further user and no openssl.
func ExampleConfig_host() {
	host := start(sshtest.Config{
		Clock:    func() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) },
		Users:    []string{"postgres"},
		Commands: map[string]sshtest.Command{"openssl": nil},
	})
	defer func() { _ = host.Close() }()

	out, _ := sh(host, "date -u +%F; sudo -n -u postgres whoami; command -v openssl || echo none")
	fmt.Print(out)
	// Output:
	// 2030-01-01
	// postgres
	// none
}

// notes is a testing.TB that only collects failures.
type notes struct {
	testing.TB
	mu      sync.Mutex
	errors  []string
	cleanup []func()
}

func (n *notes) Helper() {}

func (n *notes) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func (n *notes) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func (n *notes) Errorf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

func (n *notes) Cleanup(fn func()) { n.cleanup = append(n.cleanup, fn) }

// end runs the cleanup functions and returns the failures.
func (n *notes) end() []string {
	for _, fn := range n.cleanup {
		fn()
	}
	return n.errors
}
