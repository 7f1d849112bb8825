package sshexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Credentials are tried in this order. A missing agent or key file is not an error.
func ExampleTarget_credentials() {
	remote, _ := sshtest.New(sshtest.Config{Name: "node1"})
	defer remote.Close()
	keys, _ := sshexec.PinnedHostKeys(remote.PublicKey())
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	host := pool.Host(sshexec.Target{
		Addr: remote.Addr(), User: "ubuntu", HostKeys: keys,
		Auth: []sshexec.Auth{
			sshexec.Agent(""), // of SSH_AUTH_SOCK
			sshexec.PrivateKeyFile("/no/such/id_ed25519", "passphrase"),
			sshexec.Password("ubuntu"),
		},
	})
	fmt.Println(host.Wait(context.Background()))
	// Output: <nil>
}

// The program answers with a code, which it could read from a person or a token.
func ExampleKeyboardInteractive() {
	remote, _ := sshtest.New(sshtest.Config{Challenge: []sshtest.Question{{Prompt: "Code: ", Answer: "123456"}}})
	defer remote.Close()
	keys, _ := sshexec.PinnedHostKeys(remote.PublicKey())
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	host := pool.Host(sshexec.Target{
		Addr: remote.Addr(), User: "ubuntu", HostKeys: keys,
		Auth: []sshexec.Auth{sshexec.KeyboardInteractive(func(_ context.Context, c sshexec.Challenge) ([]string, error) {
			fmt.Printf("%s is asked %q\n", c.User, c.Questions[0].Text)
			return []string{"123456"}, nil
		})},
	})
	fmt.Println(host.Wait(context.Background()))
	// Output:
	// ubuntu is asked "Code: "
	// <nil>
}

// Machines of a private network are reached through a jump host, which has a separate login and host key.
func ExampleTarget_via() {
	gate, _ := sshtest.New(sshtest.Config{Name: "gate", User: "jump", Password: "j", Dial: new(net.Dialer).DialContext})
	defer gate.Close()
	node, _ := sshtest.New(sshtest.Config{Name: "node1"})
	defer node.Close()
	keysOfGate, _ := sshexec.PinnedHostKeys(gate.PublicKey())
	keysOfNode, _ := sshexec.PinnedHostKeys(node.PublicKey())
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	host := pool.Host(sshexec.Target{
		Addr: node.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keysOfNode,
		Via: &sshexec.Target{
			Addr: gate.Addr(), User: "jump", Auth: []sshexec.Auth{sshexec.Password("j")}, HostKeys: keysOfGate,
		},
	})
	name, err := host.Output(context.Background(), sshexec.Command{Argv: []string{"hostname"}})
	fmt.Printf("%s%v\n", name, err)
	// Output:
	// node1
	// <nil>
}

// A replaced machine at the same address is not mistaken for the known machine.
func ExampleHostKeyError() {
	store := &sshtest.HostKeyStore{}
	remote, _ := sshtest.New(sshtest.Config{})
	defer remote.Close()
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	ctx := context.Background()
	host := pool.Host(sshexec.Target{
		ID: "vm-1", Addr: remote.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")},
		HostKeys: sshexec.AcceptNewHostKeys(store), // a database, for example
	})
	fmt.Println(host.Wait(ctx))

	_ = remote.ReplaceHostKey()
	remote.CutConnections()
	err := host.Wait(ctx)
	var mismatch *sshexec.HostKeyError
	fmt.Println(errors.Is(err, sshexec.ErrHostKey), errors.As(err, &mismatch) && mismatch.Got != mismatch.Known[0])

	_ = host.ForgetKey(ctx) // this program has replaced the machine
	fmt.Println(host.Wait(ctx))
	// Output:
	// <nil>
	// true true
	// <nil>
}

// The keys in OpenSSH's known_hosts are trusted.
func ExampleKnownHosts() {
	remote, _ := sshtest.New(sshtest.Config{})
	defer remote.Close()
	file, _ := os.CreateTemp("", "known_hosts")
	defer os.Remove(file.Name())
	_, port, _ := net.SplitHostPort(remote.Addr())
	_, _ = fmt.Fprintf(file, "[127.0.0.1]:%s %s\n", port, remote.PublicKey())
	_ = file.Close()

	keys, err := sshexec.KnownHosts(file.Name())
	if err != nil {
		fmt.Println(err)
	}
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	host := pool.Host(sshexec.Target{
		Addr: remote.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys,
	})
	fmt.Println(host.Wait(context.Background()))
	// Output: <nil>
}

// The client reaches an API that only the host can connect to.
func ExampleHost_DialContext() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "healthy") }))
	defer api.Close()
	remote, _ := sshtest.New(sshtest.Config{Dial: new(net.Dialer).DialContext})
	defer remote.Close()
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	keys, _ := sshexec.PinnedHostKeys(remote.PublicKey())
	host := pool.Host(sshexec.Target{
		Addr: remote.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys,
	})

	client := http.Client{Transport: &http.Transport{DialContext: host.DialContext}}
	defer client.CloseIdleConnections()
	answer, err := client.Get(api.URL) //nolint:noctx // an example
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Println(string(body), err)
	// Output: healthy <nil>
}
