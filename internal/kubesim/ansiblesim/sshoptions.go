package ansiblesim

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// sshOptions are the -o of ssh, of each the first that was given, as ssh_config(5) says.
type sshOptions map[string]string

// knownOptions are those that may be given, in small letters. Others are refused rather than passed over.
var knownOptions = map[string]bool{"userknownhostsfile": true, "globalknownhostsfile": true, "stricthostkeychecking": true, "hostkeyalgorithms": true,
	"controlmaster": true, "controlpersist": true, "controlpath": true, "connectionattempts": true, "connecttimeout": true, "port": true, "user": true, "identityfile": true,
	"identitiesonly": true, "passwordauthentication": true, "pubkeyauthentication": true, "kbdinteractiveauthentication": true, "preferredauthentications": true,
	"serveraliveinterval": true, "serveralivecountmax": true, "tcpkeepalive": true, "loglevel": true, "updatehostkeys": true, "checkhostip": true, "forwardagent": true, "identityagent": true}

// addArgs takes arguments of ssh as Ansible splits them.
func (o sshOptions) addArgs(text string) error {
	words, err := split(text, false)
	if err != nil {
		return err
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "-C" || word == "-q" || word == "-4" || word == "-6":
			continue
		case word == "-o" && i+1 < len(words):
			i++
			word = words[i]
		case strings.HasPrefix(word, "-o") && len(word) > 2:
			word = word[2:]
		default:
			return fmt.Errorf("ansiblesim: the ssh argument %q is not simulated", word)
		}
		key, value, given := strings.Cut(word, "=")
		if !given {
			key, value, _ = strings.Cut(word, " ")
		}
		if key = strings.ToLower(strings.TrimSpace(key)); !knownOptions[key] {
			return fmt.Errorf("command-line line 0: Bad configuration option: %s", key)
		}
		o.add(key, strings.TrimSpace(value))
	}
	return nil
}

func (o sshOptions) add(key, value string) {
	if _, given := o[key]; !given {
		o[key] = value
	}
}

// files are the paths of an option that names several, the default when it is not given.
func (o sshOptions) files(key, otherwise, home string) ([]string, error) {
	value, given := o[key]
	if !given {
		value = otherwise
	}
	words, err := split(value, false) // ssh splits and unquotes them once more
	for i, word := range words {
		if rest, found := strings.CutPrefix(word, "~/"); found {
			words[i] = path.Join(home, rest)
		}
	}
	return words, err
}

// options are those of the ssh that Ansible would run for a host, in the order of its connection plugin (plugins/connection/ssh.py,
// _build_command).
func (l *login) options(p *sshtest.Process) (sshOptions, error) {
	o := sshOptions{}
	args, given, err := l.vars.get("ansible_ssh_args")
	if err != nil {
		return nil, err
	}
	if !given {
		args = setting(p, "ANSIBLE_SSH_ARGS", "ssh_connection.ssh_args", "-C -o ControlMaster=auto -o ControlPersist=60s")
	}
	if err := o.addArgs(plainText(args)); err != nil {
		return nil, err
	}
	checking := setting(p, "ANSIBLE_HOST_KEY_CHECKING", "defaults.host_key_checking", "True")
	for _, name := range []string{"ansible_ssh_host_key_checking", "ansible_host_key_checking"} {
		if value, err := l.vars.text(name); err != nil {
			return nil, err
		} else if value != "" {
			checking = value
		}
	}
	if l.checking = truth(checking); !l.checking {
		o.add("stricthostkeychecking", "no")
	}
	for _, name := range []string{"ansible_ssh_common_args", "ansible_ssh_extra_args"} {
		args, err := l.vars.text(name)
		if err != nil {
			return nil, err
		}
		if err := o.addArgs(args); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// socketLimit is the length of the address of a socket, with its end (unix(7)).
const socketLimit = 108

// share makes the directory in which Ansible has ssh keep its connections (plugins/connection/ssh.py, _build_command).
func (o sshOptions) share(p *sshtest.Process, home string) error {
	if _, persistent := o["controlpersist"]; !persistent || o["controlpath"] != "" {
		return nil
	}
	dir := setting(p, "ANSIBLE_SSH_CONTROL_PATH_DIR", "ssh_connection.control_path_dir", "~/.ansible/cp")
	if rest, found := strings.CutPrefix(dir, "~/"); found {
		dir = path.Join(home, rest)
	}
	// The names are ten digits of a hash, with what ssh puts behind while it makes them.
	if name := dir + "/0123456789.0123456789abcdef"; len(name) >= socketLimit {
		return unreachable(fmt.Sprintf("Failed to connect to the host via ssh: unix_listener: path \"%s\" too long for Unix domain socket", name))
	}
	if err := p.FS.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // another host's task may make it too
		return err
	}
	return nil
}

// truth is what Ansible takes for true.
func truth(text string) bool {
	switch strings.ToLower(text) {
	case "1", "true", "yes", "on", "y", "t":
		return true
	}
	return false
}
