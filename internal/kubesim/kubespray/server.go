package kubespray

import (
	"context"
	"fmt"
	"net"
	"path"
	"slices"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Server is an Ansible server with kubespray.
type Server struct {
	User      string
	Version   string // of ansible-core; "": Ansible is not installed
	Sshpass   bool
	Kubespray string        // its version; "": kubespray is not installed
	Root      string        // its directory
	Takes     time.Duration // duration of a playbook; default no time

	// Dial connects to the machines.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Unexpected is called for misuse that is always a bug of the caller, such as removing nodes without naming them.
	Unexpected func(argv []string)
}

// Programs returns the programs of the server.
func (s Server) Programs() map[string]sshtest.Command {
	out := map[string]sshtest.Command{"ansible-playbook": nil, "ansible-doc": nil, "sshpass": nil}
	if s.Version != "" {
		out["ansible-playbook"], out["ansible-doc"] = command(s.playbook), command(doc)
	}
	if s.Sshpass {
		out["sshpass"] = command(func(context.Context, *program.Call) error { return nil })
	}
	return out
}

func command(run func(context.Context, *program.Call) error) sshtest.Command {
	return func(ctx context.Context, p *sshtest.Process) int {
		c := program.Call{Process: p, Args: p.Args[1:]}
		return c.Code(run(ctx, &c))
	}
}

// exit ends a program with a code, after a message.
func exit(code int, format string, args ...any) error {
	return program.ExitError{Code: code, Message: fmt.Sprintf(format, args...)}
}

const jsonLines = "ansible.posix.jsonl"

// doc answers that the callback exists.
func doc(_ context.Context, c *program.Call) error {
	if !slices.Equal(c.Args, []string{"-t", "callback", "--json", jsonLines}) {
		return fmt.Errorf("ansible-doc: %q is not simulated", c.Args)
	}
	c.Printf("{%q: {}}\n", jsonLines)
	return nil
}

// Install writes the tree of kubespray.
func (s Server) Install(files afero.Fs) error {
	if s.Kubespray == "" {
		return nil
	}
	for name, content := range s.tree() {
		name = path.Join(s.Root, name)
		if err := files.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if err := afero.WriteFile(files, name, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (s Server) unexpected(argv ...string) {
	if s.Unexpected != nil {
		s.Unexpected(argv)
	}
}
