package kubespray

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec"
)

// unreachable is the error of a host that cannot be logged in to.
type unreachable string

func (u unreachable) Error() string { return "Failed to connect to the host via ssh: " + string(u) }

// login returns how the variables of a host say that it is reached.
func (r *run) login(host string) (sshexec.Target, error) {
	get := func(name string) string { return r.inventory.text(host, name) }
	address, port := cmp.Or(get("ansible_host"), host), cmp.Or(get("ansible_port"), "22")
	t := sshexec.Target{ID: host, Addr: net.JoinHostPort(address, port), User: cmp.Or(get("ansible_user"), r.call.User)}
	options := sshOptions(r.sshArgs() + " " + get("ansible_ssh_common_args"))
	if err := r.share(options); err != nil {
		return t, err
	}
	keys, err := r.knownKeys(options, address)
	if err != nil {
		return t, err
	}
	if t.HostKeys, err = sshexec.PinnedHostKeys(keys...); err != nil {
		return t, err
	}
	if t.Auth, err = r.auth(get("ansible_ssh_private_key_file"), get("ansible_password")); err != nil {
		return t, err
	}
	if password := get("ansible_become_password"); password != "" {
		t.Sudo = sshexec.SudoPassword(password)
	}
	return t, nil
}

// auth logs in with a key that only its owner may read, or else with a password.
func (r *run) auth(keyFile, password string) ([]sshexec.Auth, error) {
	if keyFile == "" {
		if !r.server.Sshpass {
			return nil, errors.New("to use the 'ssh' connection type with passwords, you must install the sshpass program")
		}
		return []sshexec.Auth{sshexec.Password(password)}, nil
	}
	key, err := afero.ReadFile(r.call.FS, keyFile)
	if err != nil {
		return nil, unreachable("no such identity: " + keyFile)
	}
	if info, err := r.call.FS.Stat(keyFile); err != nil || info.Mode().Perm()&0o077 != 0 {
		return nil, unreachable("Permissions for '" + keyFile + "' are too open.")
	}
	auth, err := sshexec.PrivateKey(key)
	if err != nil {
		return nil, unreachable("Load key \"" + keyFile + "\": error in libcrypto")
	}
	return []sshexec.Auth{auth}, nil
}

// sshArgs returns the arguments of ssh of the environment, or else of ansible.cfg.
func (r *run) sshArgs() string {
	if args := r.call.Env("ANSIBLE_SSH_ARGS"); args != "" {
		return args
	}
	for line := range strings.Lines(r.config) {
		if args, found := strings.CutPrefix(line, "ssh_args = "); found {
			return strings.TrimSpace(args)
		}
	}
	return ""
}

// sshOptions returns the options of ssh, of each the first value that is given.
func sshOptions(args string) map[string]string {
	out := map[string]string{}
	words := strings.Fields(args)
	for i, word := range words {
		if name, value, _ := strings.Cut(word, "="); i > 0 && words[i-1] == "-o" && out[name] == "" {
			out[name] = value
		}
	}
	return out
}

// knownKeys returns the keys that the user's file has for an address.
func (r *run) knownKeys(options map[string]string, address string) (keys []string, err error) {
	if r.call.Env("ANSIBLE_HOST_KEY_CHECKING") != "True" || options["StrictHostKeyChecking"] != "yes" {
		r.server.unexpected("ansible-playbook", "host keys are not checked")
		return nil, unreachable("host keys are not checked")
	}
	data, _ := afero.ReadFile(r.call.FS, options["UserKnownHostsFile"]) // ssh ignores a file that does not exist
	for {
		_, hosts, key, _, rest, err := ssh.ParseKnownHosts(data)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreachable(options["UserKnownHostsFile"] + ": invalid line: " + err.Error())
		}
		if slices.Contains(hosts, address) && proven(key, options["HostKeyAlgorithms"]) {
			keys = append(keys, string(ssh.MarshalAuthorizedKey(key)))
		}
		data = rest
	}
	if len(keys) == 0 {
		return nil, unreachable("No host key is known for " + address + ". Host key verification failed.")
	}
	return keys, nil
}

// proven reports whether a key can sign with one of these algorithms.
func proven(key ssh.PublicKey, algorithms string) bool {
	name := key.Type()
	if name == ssh.KeyAlgoRSA {
		name = ssh.KeyAlgoRSASHA512
	}
	return slices.Contains(strings.Split(algorithms, ","), name)
}

// socketLimit is the length of the address of a socket, with its end (unix(7)).
const socketLimit = 108

// share makes the directory in which Ansible lets ssh keep its connections (plugins/connection/ssh.py, _build_command).
func (r *run) share(options map[string]string) error {
	if options["ControlPersist"] == "" {
		return nil
	}
	dir := cmp.Or(r.call.Env("ANSIBLE_SSH_CONTROL_PATH_DIR"), path.Join("/home", r.server.User, ".ansible/cp"))
	// The names are ten digits of a hash, to which ssh appends 17 characters while it makes the socket.
	if name := dir + "/0123456789.0123456789abcdef"; len(name) >= socketLimit {
		return unreachable(fmt.Sprintf("unix_listener: path %q too long for Unix domain socket", name))
	}
	r.mu.Lock() // another host's task may make it too
	defer r.mu.Unlock()
	return r.call.FS.MkdirAll(dir, 0o700)
}
