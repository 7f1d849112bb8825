package helmcli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// shell is a Runner that does on this machine what one over SSH does: it quotes a command for a real shell, and ends it
// with all that it has started when the context ends.
type shell struct {
	env []string
	ran *[]string // command lines
}

func (s shell) Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var line []string
	for _, a := range argv {
		line = append(line, "'"+strings.ReplaceAll(a, "'", `'\''`)+"'")
	}
	if s.ran != nil {
		*s.ran = append(*s.ran, strings.Join(argv, " "))
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "exec "+strings.Join(line, " "))
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), s.env...), stdin, stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		group := -cmd.Process.Pid
		_ = syscall.Kill(group, syscall.SIGTERM)
		for range 50 {
			if syscall.Kill(group, 0) != nil {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
		return syscall.Kill(group, syscall.SIGKILL)
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("localhost: %w", context.Cause(ctx))
	}
	return err
}

// real is a client of a cluster that the environment names, with helm and kubectl in PATH.
func real(t *testing.T, machines ...helmcli.Machine) *helmcli.Client {
	t.Helper()
	kubeconfig := os.Getenv("VNFKIT_KUBECONFIG")
	if kubeconfig == "" {
		t.Skip("VNFKIT_KUBECONFIG names no cluster")
	}
	for _, program := range []string{"helm", "kubectl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v", err)
		}
	}
	if machines == nil {
		machines = []helmcli.Machine{{Name: "m1", Runner: shell{}}}
	}
	c, err := helmcli.New(helmcli.Config{Machines: machines, Dir: t.TempDir() + "/a 'b' $(c)", Kubeconfig: kubeconfig})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func uninstalled(t *testing.T, c *helmcli.Client, n helmclient.Name) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = c.Uninstall(ctx, helmclient.Uninstall{Name: n})
}

func kubeconfig(t *testing.T) string {
	t.Helper()
	return os.Getenv("VNFKIT_KUBECONFIG")
}

func save(t *testing.T, name string, open func() (io.ReadCloser, error)) {
	t.Helper()
	r, err := open()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// flood is a machine that prints without end.
type flood struct{}

func (flood) Run(ctx context.Context, _ []string, _ io.Reader, stdout, _ io.Writer) error {
	block := make([]byte, 1<<20)
	for range 65 {
		if _, err := stdout.Write(block); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// TestOutputIsBounded: what helm prints beyond 64 MiB is an error.
func TestOutputIsBounded(t *testing.T) {
	c, err := helmcli.New(helmcli.Config{Machines: []helmcli.Machine{{Name: "m", Runner: flood{}}}, Dir: "/var/helm"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Manifest(t.Context(), helmclient.Name{Release: "web"}, 0); err == nil || !strings.Contains(err.Error(), "printed more than 64 MiB") {
		t.Errorf("got %v", err)
	}
}
