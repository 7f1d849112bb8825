package ansible

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Kinds of faults that Check finds. Each is the Kind of a *CheckError. A retry succeeds only after an operator has changed
// the server.
var (
	// ErrAbsent reports that the server has no program ansible-playbook.
	ErrAbsent = errors.New("no Ansible is installed")
	// ErrBroken reports that ansible-playbook is installed, but "ansible-playbook --version" fails or prints no version.
	ErrBroken = errors.New("the installed Ansible does not start")
	// ErrVersion reports that the playbooks do not run with the installed version of Ansible.
	ErrVersion = errors.New("the version of Ansible does not fit the playbooks")
	// ErrTree reports that the directory or some of the playbooks do not exist.
	ErrTree = errors.New("the playbooks are not there")
	// ErrNoSSHPass reports that the program sshpass is not installed. Ansible needs sshpass to log in with passwords.
	ErrNoSSHPass = errors.New("sshpass is not installed")
)

// CheckError is one fault that prevents playbooks from running on a server.
type CheckError struct {
	Host   string // the Ansible server
	Kind   error  // one of ErrAbsent, ErrBroken, ErrVersion, ErrTree, ErrNoSSHPass
	Found  string // what the check found on the server; may be empty
	Wanted string
	Remedy string
}

func (e *CheckError) Error() string {
	text := fmt.Sprintf("ansible: %s: %v", e.Host, e.Kind)
	if e.Found != "" {
		text += ": found " + e.Found
	}
	if e.Wanted != "" {
		text += ", wanted " + e.Wanted
	}
	return text + ": " + e.Remedy
}

// Unwrap returns e.Kind, so that errors.Is(err, ErrAbsent) and the like report the kind of fault.
func (e *CheckError) Unwrap() error { return e.Kind }

// Requirements are what Check requires of a server.
type Requirements struct {
	Root      string   // kubespray_root_path
	Playbooks []string // file names that must exist in Root
	Passwords bool     // Ansible logs in to nodes with passwords, so sshpass is required
}

// Versions are the versions of the programs on a server.
type Versions struct {
	Ansible   string // ansible-core, such as 2.14.18
	Kubespray string // such as 2.23.3; "" if kubespray's directory does not say
}

// checkLimit bounds each command of Check: Python starts slowly on a machine under load.
const checkLimit = 2 * time.Minute

// Check reports whether the playbooks of a directory can run on the server: whether Ansible, the playbooks and, if needed,
// sshpass exist, and whether the version of Ansible suits the playbooks. It takes the limits of the version from the
// directory, or, if the directory states none, from the known limits of its release. The error joins a *CheckError for
// every fault.
func (s Server) Check(ctx context.Context, r Requirements) (Versions, error) {
	if !path.IsAbs(r.Root) {
		return Versions{}, fmt.Errorf("ansible: root %q is not an absolute path", r.Root)
	}
	var v Versions
	var err error
	var errs []error
	if v.Ansible, err = s.version(ctx, r.Root); err != nil {
		errs = append(errs, err)
	}
	if r.Passwords {
		errs = append(errs, s.sshpass(ctx))
	}
	if err := s.playbooks(ctx, r); err != nil {
		return v, errors.Join(append(errs, err)...)
	}
	t, err := s.tree(ctx, r.Root)
	if err != nil {
		return v, errors.Join(append(errs, err)...)
	}
	v.Kubespray = t.version
	if v.Ansible != "" && !t.allow(v.Ansible) {
		errs = append(errs, s.wrong(ErrVersion, "ansible-core "+v.Ansible, t.String(),
			"install such a version, for example in a virtual environment, or a release of kubespray that suits this one"))
	}
	return v, errors.Join(errs...)
}

func (s Server) wrong(kind error, found, wanted, remedy string) error {
	return &CheckError{Host: s.Host.Name(), Kind: kind, Found: found, Wanted: wanted, Remedy: remedy}
}

// version returns the version that ansible-playbook prints.
func (s Server) version(ctx context.Context, root string) (string, error) {
	out, err := s.Host.Output(ctx, sshexec.Command{
		Argv: []string{"ansible-playbook", "--version"}, Env: map[string]string{"LC_ALL": utf8Locale}, Timeout: checkLimit,
	})
	exit, exited := errors.AsType[*sshexec.ExitError](err)
	switch {
	case exited && exit.Code == 127:
		return "", s.wrong(ErrAbsent, "no ansible-playbook in the PATH of the login user", "ansible-core",
			"install it with what the playbooks need, see requirements.txt in "+root)
	case exited && strings.Contains(exit.Stderr, "locale"):
		return "", s.wrong(ErrBroken, clean(oneLine(exit.Stderr), maxName), "the locale "+utf8Locale, "install that locale")
	case exited:
		return "", s.wrong(ErrBroken, clean(oneLine(exit.Stderr), maxName), "", "repair it until ansible-playbook --version ends with exit code 0")
	case err != nil:
		return "", err
	}
	m := versionOf.FindSubmatch(out)
	if m == nil {
		return "", s.wrong(ErrBroken, clean(oneLine(string(out)), maxName), "a version", "repair it until ansible-playbook --version tells its version")
	}
	return string(m[1]), nil
}

func (s Server) sshpass(ctx context.Context) error {
	err := s.Host.Exec(ctx, sshexec.Command{Argv: []string{"sshpass", "-V"}, Timeout: checkLimit})
	if exit, exited := errors.AsType[*sshexec.ExitError](err); exited && exit.Code == 127 {
		return s.wrong(ErrNoSSHPass, "", "", "install the package sshpass, or log in to the nodes with keys")
	}
	return err
}

// playbooksScript prints the names of missing files: $1 directory, $2... names.
const playbooksScript = `cd "$1" 2>/dev/null || { echo .; exit 0; }; shift; for f; do [ -f "$f" ] || printf "%s\n" "$f"; done`

func (s Server) playbooks(ctx context.Context, r Requirements) error {
	out, err := s.Host.Output(ctx, sshexec.Command{
		Argv: append([]string{"/bin/sh", "-c", playbooksScript, "sh", r.Root}, r.Playbooks...), Timeout: checkLimit,
	})
	missing := strings.FieldsFunc(string(out), func(c rune) bool { return c == '\n' })
	switch {
	case err != nil:
		return err
	case len(missing) == 0:
		return nil
	case missing[0] == ".":
		return s.wrong(ErrTree, "no directory "+r.Root+" that the login user may enter", "", "put kubespray there, or name the directory where it is")
	}
	return s.wrong(ErrTree, r.Root+" without "+strings.Join(missing, ", "), "", "name the directory of a whole kubespray")
}

// tree describes a directory of kubespray's playbooks, from the files in the directory.
type tree struct {
	version string
	limits
}

// tree reads the files of kubespray that state its version and the versions of Ansible it supports.
func (s Server) tree(ctx context.Context, root string) (tree, error) {
	var t tree
	var galaxy struct {
		Version string `yaml:"version"`
	}
	if err := s.read(ctx, path.Join(root, "galaxy.yml"), &galaxy); err != nil {
		return t, err
	}
	t.version = clean(galaxy.Version, maxName)
	for _, name := range []string{"playbooks/ansible_version.yml", "ansible_version.yml"} {
		var plays []struct {
			Vars struct {
				From  string `yaml:"minimal_ansible_version"`
				Below string `yaml:"maximal_ansible_version"`
			} `yaml:"vars"`
		}
		if err := s.read(ctx, path.Join(root, name), &plays); err != nil {
			return t, err
		}
		for _, p := range plays {
			if p.Vars.From != "" || p.Vars.Below != "" {
				t.limits = limits{clean(p.Vars.From, maxName), clean(p.Vars.Below, maxName)}
				return t, nil
			}
		}
	}
	t.limits = limitsOf(t.version)
	return t, nil
}

// maxTreeFile bounds the size of the files that Check reads. kubespray's files have some hundred bytes.
const maxTreeFile = 64 << 10

// read decodes a file of kubespray. It ignores a file that does not exist or that has another form: Ansible itself reports
// a file that it cannot use.
func (s Server) read(ctx context.Context, name string, into any) error {
	content, err := s.Host.ReadFile(ctx, sshexec.File{Path: name})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, sshexec.ErrTooLarge), errors.Is(err, sshexec.ErrIrregular):
		return nil
	case err != nil:
		return err
	case len(content) > maxTreeFile:
		return nil
	}
	_ = yaml.Unmarshal(content, into) // a file of another form is ignored, see above
	return nil
}
