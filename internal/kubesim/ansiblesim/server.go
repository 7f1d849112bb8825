package ansiblesim

import (
	"context"
	"fmt"
	"net"
	"path"
	"strings"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Server is a machine with Ansible.
type Server struct {
	User    string // whose home "~" is
	Version string // of ansible-core; "" without it
	Posix   bool   // the collection ansible.posix is there
	Sshpass bool

	// Dial leads to the hosts of inventories.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Playbooks are what the playbooks do, by their path. They must be on the disk too.
	Playbooks map[string]Playbook
}

// Playbook is what a playbook does.
type Playbook func(ctx context.Context, r *Run) error

// Programs are those of the server, for sshtest.Config.Commands.
func (s *Server) Programs() map[string]sshtest.Command {
	out := map[string]sshtest.Command{"ansible-playbook": nil, "ansible-doc": nil, "sshpass": nil}
	if s.Version != "" {
		out["ansible-playbook"], out["ansible-doc"] = command(s.playbook), command(s.doc)
	}
	if s.Sshpass {
		out["sshpass"] = command(sshpass)
	}
	return out
}

// exit ends a program with a code, after a message on stderr.
func exit(code int, format string, args ...any) error {
	return program.ExitError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func command(run func(context.Context, *sshtest.Process) error) sshtest.Command {
	return func(ctx context.Context, p *sshtest.Process) int {
		c := program.Call{Process: p}
		return c.Code(run(ctx, p))
	}
}

func sshpass(_ context.Context, p *sshtest.Process) error {
	if len(p.Args) != 2 || p.Args[1] != "-V" {
		return fmt.Errorf("ansiblesim: sshpass %q is not simulated", p.Args[1:])
	}
	_, _ = fmt.Fprintln(p.Stdout, "sshpass 1.09")
	return nil
}

// locale fails without a UTF-8 locale, as Ansible does since 2.14. Python takes C.UTF-8 where nothing is said.
func locale(p *sshtest.Process) error {
	name := p.Env("LC_ALL")
	if name == "" {
		name = p.Env("LC_CTYPE")
	}
	if name == "" {
		name = p.Env("LANG")
	}
	if _, charset, _ := strings.Cut(name, "."); name == "" || strings.EqualFold(charset, "UTF-8") || strings.EqualFold(charset, "UTF8") {
		return nil
	}
	return exit(1, "ERROR: Ansible requires the locale encoding to be UTF-8; Detected None.")
}

func (s *Server) version(p *sshtest.Process) {
	config := "None"
	if name, _ := readConfig(p); name != "" {
		config = name
	}
	_, _ = fmt.Fprintf(p.Stdout, "%s [core %s]\n  config file = %s\n  executable location = /usr/bin/%s\n  python version = 3.11.2 (/usr/bin/python3)\n  jinja version = 3.1.2\n",
		path.Base(p.Args[0]), s.Version, config, path.Base(p.Args[0]))
}

// doc answers about callbacks, with 0 also about those that are not there.
func (s *Server) doc(_ context.Context, p *sshtest.Process) error {
	if err := locale(p); err != nil {
		return err
	}
	callbacks := map[string]string{"ansible.builtin.default": "default Ansible screen output", "ansible.builtin.minimal": "minimal Ansible screen output"}
	if s.Posix {
		callbacks[jsonLines] = "Ansible screen output as JSONL (lines in json format)"
	}
	args := p.Args[1:]
	switch {
	case len(args) == 1 && args[0] == "--version":
		s.version(p)
	case len(args) == 3 && args[0] == "-t" && args[1] == "callback" && args[2] == "-l":
		for _, name := range []string{"ansible.builtin.default", "ansible.builtin.minimal", jsonLines} {
			if callbacks[name] != "" {
				_, _ = fmt.Fprintf(p.Stdout, "%-37s %s\n", name, callbacks[name])
			}
		}
	case len(args) == 4 && args[0] == "-t" && args[1] == "callback" && (args[2] == "--json" || args[2] == "-j"):
		found := map[string]any{}
		if text := callbacks[args[3]]; text != "" {
			found[args[3]] = map[string]any{"doc": map[string]any{"description": []string{text}}}
		} else {
			_, _ = fmt.Fprintf(p.Stderr, "[WARNING]: %s was not found\n", args[3])
		}
		_, _ = fmt.Fprintln(p.Stdout, encode(found))
	case len(args) == 3 && args[0] == "-t" && args[1] == "callback" && !strings.HasPrefix(args[2], "-"):
		if callbacks[args[2]] == "" {
			_, _ = fmt.Fprintf(p.Stderr, "[WARNING]: %s was not found\n", args[2])
			return nil
		}
		_, _ = fmt.Fprintf(p.Stdout, "> %s    (/usr/lib/python3/dist-packages/ansible/plugins/callback)\n\n        %s\n", strings.ToUpper(args[2]), callbacks[args[2]])
	default:
		return fmt.Errorf("ansiblesim: ansible-doc %q is not simulated", args)
	}
	return nil
}

// configFile is what matters of an ansible.cfg.
type configFile map[string]string // "section.key"

// readConfig reads the ansible.cfg of the working directory.
func readConfig(p *sshtest.Process) (name string, c configFile) {
	name = path.Join(p.Dir, "ansible.cfg")
	if named := p.Env("ANSIBLE_CONFIG"); named != "" {
		name = named
	}
	text, err := afero.ReadFile(p.FS, name)
	if err != nil {
		return "", configFile{}
	}
	c, section := configFile{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		default:
			key, value, _ := strings.Cut(line, "=")
			c[section+"."+strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return name, c
}

// setting is one of the environment, or else of ansible.cfg, or else the default.
func setting(p *sshtest.Process, env, key, otherwise string) string {
	if value := p.Env(env); value != "" {
		return value
	}
	_, c := readConfig(p)
	if value, given := c[key]; given {
		return value
	}
	return otherwise
}
