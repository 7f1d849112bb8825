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

// Play describes one run of a playbook.
type Play struct {
	// Name identifies the run on the server: Server.Run with the same name finds the same run. At most 200 bytes, where a
	// byte other than a letter, digit, "_", "-" or "." counts as three (sshexec.Host.StartJob).
	Name      string
	Dir       string   // working directory, which has ansible.cfg: kubespray_root_path
	Playbook  string   // path, relative to Dir or absolute
	Inventory []string // paths
	// Limit names the hosts on which the playbook runs. Default: all. Patterns and groups are refused. If no play runs on a
	// host of Limit, the run fails with ErrNoHosts.
	Limit []string
	// Names are the names that the text of an Error has for hosts of the inventory. Default: those of the inventory.
	Names map[string]string
	// Vars are extra variables (-e). They are sent as JSON in a file of mode 0600, which is removed when the run ends.
	// Ansible takes them as data, even texts that look like a template.
	Vars map[string]any
	// Vault is the password that decrypts values of the inventory. Default: no value is encrypted.
	Vault vnflcm.Secret
	// Env is added to the environment of ansible-playbook. Variables on which reading the output depends cannot be changed.
	// Defaults: LC_ALL is C.UTF-8, ANSIBLE_HOST_KEY_CHECKING True, ANSIBLE_RETRY_FILES_ENABLED False, and
	// ANSIBLE_SSH_CONTROL_PATH a path that no other run uses.
	Env   map[string]string
	Forks int // hosts that Ansible configures concurrently; default: Ansible's
	// Again starts a run again that failed, was stopped or was lost. Otherwise Server.Run returns the old result. A run
	// that is still running or has succeeded is never started again.
	Again bool
	// Secrets are masked in events, errors and output.
	Secrets []string
	// Output receives everything that the run prints, masked. nil discards it. After a failed write, Output receives
	// nothing more; the run continues.
	Output io.Writer
}

var (
	// hostName matches the name of a host that is not a pattern. ":,!&*?[]@~" and a first "-" have a meaning for Ansible.
	hostName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	// variableName matches the names of Ansible's variables.
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// check returns all faults of a play, before anything runs.
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
		// Ansible takes a text with a comma as a list of hosts.
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

// args returns the arguments of ansible-playbook, except for those that name files of the run.
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

// env returns the environment of the run. It fixes the form of the output, whatever the directory's ansible.cfg says:
// kubespray's, for example, leaves out skipped hosts.
func (p Play) env(callback string) map[string]string {
	env := map[string]string{"LC_ALL": utf8Locale, "ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_RETRY_FILES_ENABLED": "False",
		// Ansible keeps connections open for later tasks (ControlPersist). A path per run prevents this run from using a
		// connection to a machine that has been replaced since by another one at the same address.
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

// utf8Locale is a UTF-8 locale. Ansible does not start in a locale with another encoding.
const utf8Locale = "C.UTF-8"

// input returns the standard input of the run: the vault password in the first line, then the variables.
func (p Play) input() ([]byte, error) {
	given := p.Vars
	if given == nil {
		given = map[string]any{} // Ansible refuses null
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

// untemplated marks every text that looks like a template as data, in the form of Ansible's JSON reader. The YAML reader
// calls this !unsafe.
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

// files returns the name of the directory of the run's files on the server.
func files(name string) string {
	digest := sha256.Sum256([]byte(name))
	return hex.EncodeToString(digest[:16])
}
