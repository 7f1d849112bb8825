package ansible

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Play is one run of a playbook.
type Play struct {
	// Name of the run: unique on the server, the same when the same run is looked for again. At most 200 bytes, of which
	// one that is no letter, digit, "_", "-" or "." counts three (sshexec.Host.StartJob).
	Name      string
	Dir       string   // working directory: where ansible.cfg is, kubespray_root_path
	Playbook  string   // path, relative to Dir or absolute
	Inventory []string // paths
	// Limit names the hosts that the playbook works on. Default: all. Patterns and groups are refused, and a host that the
	// run has not worked on is an error (ErrNoHosts).
	Limit []string
	// Vars are extra variables (-e). They travel in a file of mode 0600, as JSON, which goes with the run. They reach the
	// playbook as they are: nothing in them is a template.
	Vars map[string]any
	// Vault opens what is encrypted in the inventory. Default: nothing is.
	Vault vnflcm.Secret
	// Env is added to the environment of ansible-playbook, beside what reading its output takes. LC_ALL is C.UTF-8,
	// ANSIBLE_HOST_KEY_CHECKING True, ANSIBLE_RETRY_FILES_ENABLED False and an ANSIBLE_SSH_CONTROL_PATH of its own unless given
	// here.
	Env   map[string]string
	Forks int // hosts worked on at once; default: Ansible's
	// Again starts a run anew that has failed, was stopped or lost, instead of telling of it again. One that goes on, or
	// has succeeded, is never started twice.
	Again bool
	// Secrets are masked in events, errors and output.
	Secrets []string
	// Output receives everything that the run writes, masked. nil: nobody. It gets nothing more after it has failed,
	// which is no failure of the run.
	Output io.Writer
}

var (
	// hostName is a name of an inventory that is no pattern: Ansible gives a meaning to ":,!&*?[]@~" and a first "-".
	hostName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	// variableName is what Ansible takes for a variable.
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// check finds what cannot be run, before anything is.
func (p Play) check() error {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("ansible: "+format, args...)) }
	if p.Name == "" {
		fault("a run needs a name")
	}
	if p.Dir != "" && !path.IsAbs(p.Dir) {
		fault("directory %q is not absolute", p.Dir)
	}
	if p.Playbook == "" || option(p.Playbook) {
		fault("playbook %q is no path", p.Playbook)
	}
	if len(p.Inventory) == 0 {
		fault("a run needs an inventory")
	}
	for _, i := range p.Inventory {
		// A comma makes it a list of hosts.
		if i == "" || option(i) || strings.Contains(i, ",") {
			fault("inventory %q is no path without commas", i)
		}
	}
	for _, h := range p.Limit {
		if !hostName.MatchString(h) {
			fault("limit %q is no host name: patterns and groups are not accepted", h)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Vars)) {
		if !variableName.MatchString(name) {
			fault("%q cannot be the name of a variable", name)
		}
	}
	if strings.ContainsAny(p.Vault.Reveal(), "\n\r\x00") {
		fault("the vault password is more than a line")
	}
	if p.Forks < 0 {
		fault("forks are negative: %d", p.Forks)
	}
	return errors.Join(errs...)
}

func option(arg string) bool { return strings.HasPrefix(arg, "-") || strings.Contains(arg, "\x00") }

// args are the arguments of ansible-playbook, without those of the files that the run makes for itself.
func (p Play) args() []string {
	var args []string
	for _, i := range p.Inventory {
		args = append(args, "-i", i)
	}
	args = append(args, "--become", "--become-user=root")
	if len(p.Limit) > 0 {
		args = append(args, "--limit="+strings.Join(p.Limit, ","))
	}
	if p.Forks > 0 {
		args = append(args, "--forks="+strconv.Itoa(p.Forks))
	}
	return append(args, p.Playbook)
}

// env is the environment of the run. The output must be what our readers know, whatever the ansible.cfg of the
// directory says: kubespray's leaves out the skipped hosts.
func (p Play) env(callback string) map[string]string {
	env := map[string]string{"LC_ALL": utf8Locale, "ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_RETRY_FILES_ENABLED": "False",
		// Connections stay open for the next run (ControlPersist). This one uses none that a machine had which has been
		// replaced since, at the same address.
		"ANSIBLE_SSH_CONTROL_PATH": "%(directory)s/" + files(p.Name)[:8] + "-%%h"}
	maps.Copy(env, p.Env)
	maps.Copy(env, map[string]string{
		"ANSIBLE_STDOUT_CALLBACK": callback, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_NOCOWS": "1",
		"ANSIBLE_VERBOSITY": "0", "ANSIBLE_JSON_INDENT": "0", "ANSIBLE_DISPLAY_OK_HOSTS": "true",
		"ANSIBLE_DISPLAY_SKIPPED_HOSTS": "true", "ANSIBLE_DISPLAY_FAILED_STDERR": "false",
		"ANSIBLE_DISPLAY_ARGS_TO_STDOUT": "false", "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
		"ANSIBLE_CALLBACK_FORMAT_PRETTY": "false",
	})
	return env
}

// utf8Locale is a locale that Ansible starts in: it refuses one whose encoding is not UTF-8.
const utf8Locale = "C.UTF-8"

// input is what the run reads: the vault password in the first line, then the variables.
func (p Play) input() ([]byte, error) {
	given := p.Vars
	if given == nil {
		given = map[string]any{} // null is no dictionary to Ansible
	}
	plain, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("ansible: variables: %w", err)
	}
	var vars any
	numbers := json.NewDecoder(bytes.NewReader(plain))
	numbers.UseNumber()
	if err := numbers.Decode(&vars); err != nil {
		return nil, fmt.Errorf("ansible: variables: %w", err)
	}
	out, err := json.Marshal(untemplated(vars))
	if err != nil {
		return nil, fmt.Errorf("ansible: variables: %w", err)
	}
	return slices.Concat([]byte(p.Vault.Reveal()+"\n"), out, []byte("\n")), nil
}

// untemplated marks every text that Ansible would take for a template, in the form in which its JSON reader knows
// what the YAML reader calls !unsafe.
func untemplated(v any) any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "{{") || strings.Contains(v, "{%") || strings.Contains(v, "{#") {
			return map[string]any{"__ansible_unsafe": v}
		}
	case []any:
		for i := range v {
			v[i] = untemplated(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = untemplated(v[k])
		}
	}
	return v
}

// files names the directory of the run's files on the server.
func files(name string) string {
	digest := sha256.Sum256([]byte(name))
	return hex.EncodeToString(digest[:16])
}
