package sshexec_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// exampleHost is a simulated host, so that the examples run anywhere. end closes
// it and the connection.
func exampleHost(name string) (host *sshexec.Host, end func()) {
	remote, err := sshtest.New(sshtest.Config{Name: name})
	if err != nil {
		log.Fatal(err)
	}
	keys, err := sshexec.PinnedHostKeys(remote.PublicKey())
	if err != nil {
		log.Fatal(err)
	}
	pool := sshexec.NewPool(sshexec.Options{})
	host = pool.Host(sshexec.Target{
		Name: name, Addr: remote.Addr(), User: "ubuntu",
		Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys,
	})
	return host, func() {
		_ = pool.Close()
		_ = remote.Close()
	}
}

func ExampleHost_Exec() {
	host, end := exampleHost("node1")
	defer end()
	err := host.Exec(context.Background(), sshexec.Command{
		Argv:   []string{"tee", "/etc/motd"},
		Stdin:  strings.NewReader("It's a $HOME\n"),
		Stdout: os.Stdout,
		Root:   true,
	})
	fmt.Println(err)
	// Output:
	// It's a $HOME
	// <nil>
}

func ExampleExitError() {
	host, end := exampleHost("node1")
	defer end()
	err := host.Exec(context.Background(), sshexec.Command{
		Shell:   `echo "login for hunter2 failed" >&2; exit 3`,
		Secrets: []string{"hunter2"},
	})
	var exit *sshexec.ExitError
	if errors.As(err, &exit) {
		fmt.Println(exit.Host, exit.Code, exit.Stderr)
	}
	// Output:
	// node1 3 login for *** failed
}

func ExampleHost_Upload() {
	host, end := exampleHost("node1")
	defer end()
	ctx := context.Background()
	file := sshexec.File{Path: "/etc/join.yaml", Mode: 0o600, Root: true}
	if err := host.Upload(ctx, strings.NewReader("token: abc\n"), file); err != nil {
		fmt.Println(err)
	}
	content, err := host.ReadFile(ctx, file)
	fmt.Printf("%s%v\n", content, err)
	// Output:
	// token: abc
	// <nil>
}

func ExampleEach() {
	one, closeOne := exampleHost("node1")
	defer closeOne()
	two, closeTwo := exampleHost("node2")
	defer closeTwo()
	err := sshexec.Each(context.Background(), sshexec.Fan{Limit: 10}, []*sshexec.Host{one, two}, func(ctx context.Context, h *sshexec.Host) error {
		return h.Exec(ctx, sshexec.Command{Shell: `[ "$(hostname)" = node1 ]`})
	})
	var failed *sshexec.HostError
	if errors.As(err, &failed) {
		fmt.Println(failed)
	}
	// Output:
	// node2: [ "$(hostname)" = node1 ]: exit code 1
}
