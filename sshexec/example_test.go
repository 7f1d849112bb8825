package sshexec_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// exampleHost returns a simulated host, so that the examples run on any machine. end closes the host and the connection.
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

// Results are in the order of the hosts, whichever host answers first.
func ExampleMap() {
	one, closeOne := exampleHost("node1")
	defer closeOne()
	two, closeTwo := exampleHost("node2")
	defer closeTwo()
	names, err := sshexec.Map(context.Background(), sshexec.Fan{Limit: 10, FailFast: true}, []*sshexec.Host{one, two},
		func(ctx context.Context, h *sshexec.Host) (string, error) {
			name, err := h.Output(ctx, sshexec.Command{Argv: []string{"hostname"}})
			return strings.TrimSpace(string(name)), err
		})
	fmt.Println(names, err)
	// Output: [node1 node2] <nil>
}

// The same code works over SSH and on this machine.
func ExamplePool_Local() {
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	host := pool.Local(sshexec.Sudo{})
	out, err := host.Output(context.Background(), sshexec.Command{Argv: []string{"echo", "it's", "here"}})
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// it's here
	// <nil>
}

// Observe is called before and after each command, with masked secrets.
func ExampleOptions_observe() {
	remote, _ := sshtest.New(sshtest.Config{})
	defer remote.Close()
	keys, _ := sshexec.PinnedHostKeys(remote.PublicKey())
	pool := sshexec.NewPool(sshexec.Options{Observe: func(_ context.Context, e sshexec.CommandEvent) {
		fmt.Println(e.Host, e.Command, "done:", e.Done)
	}})
	defer pool.Close()
	host := pool.Host(sshexec.Target{
		Name: "node1", Addr: remote.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys,
	})
	_ = host.Exec(context.Background(), sshexec.Command{Argv: []string{"echo", "--token=abc"}, Secrets: []string{"abc"}})
	// Output:
	// node1 echo '--token=***' done: false
	// node1 echo '--token=***' done: true
}

// The command has a timeout.
func ExampleCommand() {
	host, end := exampleHost("node1")
	defer end()
	err := host.Exec(context.Background(), sshexec.Command{
		Argv:    []string{"sleep", "3600"},
		Timeout: 100 * time.Millisecond,
		Grace:   time.Second, // between TERM and KILL
	})
	fmt.Println(errors.Is(err, sshexec.ErrTimeout))
	// Output: true
}

func ExampleHost_Download() {
	host, end := exampleHost("node1")
	defer end()
	ctx := context.Background()
	file := sshexec.File{Path: "/root/admin.conf", Mode: 0o600, Root: true, Progress: func(p sshexec.Progress) {
		fmt.Printf("%s %s %d of %d bytes\n", p.Host, p.Path, p.Done, p.Total)
	}}
	if err := host.Upload(ctx, strings.NewReader("kind: Config\n"), file); err != nil {
		fmt.Println(err)
	}
	err := host.Download(ctx, os.Stdout, file)
	fmt.Println(err)
	// Output:
	// node1 /root/admin.conf 13 of 13 bytes
	// kind: Config
	// node1 /root/admin.conf 13 of 13 bytes
	// <nil>
}

func ExampleHost_UploadTree() {
	host, end := exampleHost("node1")
	defer end()
	ctx := context.Background()
	manifests := fstest.MapFS{ // or os.DirFS, embed.FS, a zip.Reader
		"cni/flannel.yaml": {Data: []byte("kind: DaemonSet\n"), Mode: 0o600},
		"namespace.yaml":   {Data: []byte("kind: Namespace\n")},
	}
	tree := sshexec.Tree{Path: "/etc/kubernetes/addons", Root: true, Owner: "root:root"}
	if err := host.UploadTree(ctx, manifests, tree); err != nil {
		fmt.Println(err)
	}
	out, err := host.Output(ctx, sshexec.Command{Argv: []string{"stat", "-c", "%a %n", tree.Path + "/cni/flannel.yaml"}, Root: true})
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// 600 /etc/kubernetes/addons/cni/flannel.yaml
	// <nil>
}

func ExampleHost_DownloadTree() {
	host, end := exampleHost("node1")
	defer end()
	ctx := context.Background()
	if err := host.Exec(ctx, sshexec.Command{Shell: "mkdir -p /var/log/pods && echo started > /var/log/pods/0.log"}); err != nil {
		fmt.Println(err)
	}
	to, err := os.MkdirTemp("", "logs")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(to)
	if err := host.DownloadTree(ctx, to, sshexec.Tree{Path: "/var/log"}); err != nil {
		fmt.Println(err)
	}
	content, err := os.ReadFile(filepath.Join(to, "pods", "0.log"))
	fmt.Printf("%s%v\n", content, err)
	// Output:
	// started
	// <nil>
}

// A job continues when the program that started it ends. Another program, or the same program after a restart, finds the job by its
// name and reads all of its output.
func ExampleHost_StartJob() {
	host, end := exampleHost("node1")
	defer end()
	ctx := context.Background()
	name := "instance-7/instantiate/kubespray" // the key of a step, for example
	command := sshexec.Command{Shell: `for i in 1 2 3; do echo "part $i"; done`}
	if _, err := host.StartJob(ctx, name, command); err != nil {
		fmt.Println(err)
	}

	job := host.Job(name, "") // in another process
	next, err := job.Follow(ctx, os.Stdout, 0)
	fmt.Println(next, err)
	fmt.Println("ended:", job.Wait(ctx))
	fmt.Println("removed:", job.Remove(ctx))
	// Output:
	// part 1
	// part 2
	// part 3
	// 21 <nil>
	// ended: <nil>
	// removed: <nil>
}

func ExampleJob_Cancel() {
	host, end := exampleHost("node1")
	defer end()
	ctx := context.Background()
	job, err := host.StartJob(ctx, "wait", sshexec.Command{Argv: []string{"sleep", "3600"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	before, _ := job.Status(ctx)
	err = job.Cancel(ctx)
	after, _ := job.Status(ctx)
	fmt.Println(before.State, err, after.State, after.Code)
	// Output:
	// running <nil> ended 143
}
