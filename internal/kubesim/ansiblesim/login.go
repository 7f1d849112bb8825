package ansiblesim

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what known_hosts files are hashed with
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// unreachable is a host that cannot be logged in to.
type unreachable string

func (u unreachable) Error() string { return string(u) }

// login is how a host is reached.
type login struct {
	vars     vars
	host     string // inventory name
	checking bool   // of host keys

	address, port, user, password, key, become string
}

// newLogin reads the connection variables of a host.
func newLogin(v vars, host string, a *arguments) (*login, error) {
	l := &login{vars: v, host: host}
	for _, field := range []struct {
		to        *string
		names     []string
		otherwise string
	}{
		{&l.address, []string{"ansible_host", "ansible_ssh_host"}, host},
		{&l.port, []string{"ansible_port", "ansible_ssh_port"}, "22"},
		{&l.user, []string{"ansible_user", "ansible_ssh_user"}, a.user},
		{&l.password, []string{"ansible_password", "ansible_ssh_password", "ansible_ssh_pass"}, ""},
		{&l.key, []string{"ansible_ssh_private_key_file", "ansible_private_key_file"}, a.key},
		{&l.become, []string{"ansible_become_password", "ansible_become_pass"}, ""},
	} {
		*field.to = field.otherwise
		for _, name := range field.names {
			value, err := v.text(name)
			if err != nil {
				return nil, fmt.Errorf("The field '%s' has an invalid value, which includes an undefined variable. The error was: %w", strings.TrimPrefix(name, "ansible_"), err)
			}
			if value != "" {
				*field.to = value
				break
			}
		}
	}
	if connection, err := v.text("ansible_connection"); err != nil || connection != "" && connection != "ssh" && connection != "smart" {
		return nil, errors.Join(fmt.Errorf("ansiblesim: ansible_connection %q is not simulated", connection), err)
	}
	return l, nil
}

// connect logs in as ssh would.
func (l *login) connect(ctx context.Context, s *Server, p *sshtest.Process) (*ssh.Client, error) {
	if l.password != "" && !s.Sshpass {
		return nil, errors.New("to use the 'ssh' connection type with passwords or pkcs11_provider, you must install the sshpass program")
	}
	options, err := l.options(p)
	if err != nil {
		return nil, unreachable("Failed to connect to the host via ssh: " + err.Error())
	}
	if err := options.share(p, homeOf(s.User)); err != nil {
		return nil, err
	}
	keys, err := l.knownKeys(p, options, s.User)
	if err != nil {
		return nil, err
	}
	var keyFault error
	config := &ssh.ClientConfig{User: cmp.Or(l.user, p.User), HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
		keyFault = l.checkKey(options, keys, key)
		return keyFault
	}}
	if algorithms := options["hostkeyalgorithms"]; algorithms != "" {
		config.HostKeyAlgorithms = strings.Split(algorithms, ",")
	} else if len(keys) > 0 {
		config.HostKeyAlgorithms = algorithmsOf(keys)
	}
	if config.Auth, err = l.methods(p); err != nil {
		return nil, err
	}
	addr := net.JoinHostPort(l.address, l.port)
	conn, err := s.Dial(ctx, "tcp", addr)
	if err != nil {
		return nil, unreachable(fmt.Sprintf("Failed to connect to the host via ssh: ssh: connect to host %s port %s: %s", l.address, l.port, reason(err)))
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	c, channels, requests, err := ssh.NewClientConn(conn, addr, config)
	if err != nil {
		_ = conn.Close()
		return nil, l.refused(err, keyFault)
	}
	return ssh.NewClient(c, channels, requests), nil
}

// refused says why a login failed, in the words of ssh and Ansible.
func (l *login) refused(err, keyFault error) error {
	at := l.user + "@" + l.address
	var unknown unknownKey
	switch {
	case errors.As(keyFault, &unknown) && l.password != "" && unknown.asks && l.checking:
		return errors.New("Using a SSH password instead of a key is not possible because Host Key checking is enabled and sshpass does not support this.  " +
			"Please add this host's fingerprint to your known_hosts file to manage this host.")
	case keyFault != nil:
		return unreachable("Failed to connect to the host via ssh: " + keyFault.Error())
	case strings.Contains(err.Error(), "unable to authenticate") && l.password != "":
		return unreachable("Invalid/incorrect username/password. Skipping remaining 0 retries to prevent account lockout: " + at + ": Permission denied (publickey,password).")
	case strings.Contains(err.Error(), "unable to authenticate"):
		return unreachable("Failed to connect to the host via ssh: " + at + ": Permission denied (publickey,password).")
	case strings.Contains(err.Error(), "no common algorithm for host key"):
		return unreachable("Failed to connect to the host via ssh: Unable to negotiate with " + l.address + " port " + l.port + ": no matching host key type found.")
	}
	return unreachable("Failed to connect to the host via ssh: kex_exchange_identification: read: Connection reset by peer")
}

func reason(err error) string {
	for _, known := range []string{"no route to host", "connection refused", "connection reset", "i/o timeout"} {
		if strings.Contains(err.Error(), known) {
			return map[string]string{"no route to host": "No route to host", "connection refused": "Connection refused",
				"connection reset": "Connection reset by peer", "i/o timeout": "Connection timed out"}[known]
		}
	}
	return err.Error()
}

// methods are the key of the file, then those of the user, and the password.
func (l *login) methods(p *sshtest.Process) ([]ssh.AuthMethod, error) {
	home := homeOf(p.User)
	files := []string{home + "/.ssh/id_rsa", home + "/.ssh/id_ecdsa", home + "/.ssh/id_ed25519"}
	if l.key != "" {
		files = []string{strings.Replace(l.key, "~/", home+"/", 1)}
	}
	var signers []ssh.Signer
	for _, name := range files {
		data, err := afero.ReadFile(p.FS, name)
		if err != nil && l.key != "" {
			_, _ = fmt.Fprintf(p.Stderr, "no such identity: %s: No such file or directory\n", name)
		}
		if err != nil {
			continue
		}
		if info, err := p.FS.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
			return nil, unreachable(fmt.Sprintf("Failed to connect to the host via ssh: WARNING: UNPROTECTED PRIVATE KEY FILE!\r\nPermissions %04o for '%s' are too open.\r\nLoad key \"%s\": bad permissions", info.Mode().Perm(), name, name))
		}
		signer, err := ssh.ParsePrivateKey(data)
		if err != nil {
			return nil, unreachable(fmt.Sprintf("Failed to connect to the host via ssh: Load key \"%s\": error in libcrypto", name))
		}
		signers = append(signers, signer)
	}
	var out []ssh.AuthMethod
	if len(signers) > 0 {
		out = append(out, ssh.PublicKeys(signers...))
	}
	if l.password != "" {
		out = append(out, ssh.Password(l.password), ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
			return slices.Repeat([]string{l.password}, len(questions)), nil
		}))
	}
	return out, nil
}

func homeOf(user string) string {
	if user == "root" {
		return "/root"
	}
	return "/home/" + user
}

// unknownKey is a host key that no file has.
type unknownKey struct {
	message string
	asks    bool // ssh would ask the user
}

func (e unknownKey) Error() string { return e.message }

// checkKey does what StrictHostKeyChecking says.
func (l *login) checkKey(o sshOptions, known []ssh.PublicKey, key ssh.PublicKey) error {
	if slices.ContainsFunc(known, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) }) {
		return nil
	}
	kind := strings.ToUpper(strings.TrimPrefix(key.Type(), "ssh-"))
	strict := strings.ToLower(cmp.Or(o["stricthostkeychecking"], "ask"))
	switch {
	case strict == "no" || strict == "off":
		return nil
	case len(known) > 0:
		return fmt.Errorf("@@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@@\r\nHost key for %s has changed and you have requested strict checking.\r\nHost key verification failed.", l.address)
	case strict == "accept-new":
		return nil
	case strict == "yes":
		return unknownKey{message: fmt.Sprintf("No %s host key is known for %s and you have requested strict checking.\r\nHost key verification failed.", kind, l.address)}
	}
	return unknownKey{message: "Host key verification failed.", asks: true}
}

// knownKeys are the keys that the files have for the host.
func (l *login) knownKeys(p *sshtest.Process, o sshOptions, user string) (keys []ssh.PublicKey, err error) {
	home := homeOf(user)
	own, err1 := o.files("userknownhostsfile", "~/.ssh/known_hosts ~/.ssh/known_hosts2", home)
	global, err2 := o.files("globalknownhostsfile", "/etc/ssh/ssh_known_hosts", home)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	name := l.address
	if l.port != "22" {
		name = "[" + l.address + "]:" + l.port
	}
	for _, file := range slices.Concat(own, global) {
		data, err := afero.ReadFile(p.FS, file)
		if err != nil {
			continue // ssh passes over files that are not there
		}
		for {
			marker, hosts, key, _, rest, err := ssh.ParseKnownHosts(data)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, unreachable("Failed to connect to the host via ssh: " + file + ": invalid line: " + err.Error())
			}
			if marker == "" && slices.ContainsFunc(hosts, func(pattern string) bool { return matches(pattern, name) }) {
				keys = append(keys, key)
			}
			data = rest
		}
	}
	return keys, nil
}

// matches reports whether a host of a known_hosts line is that one: by name or hashed (sshd(8)).
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return pattern == name
	}
	salt, err1 := base64.StdEncoding.DecodeString(parts[2])
	sum, err2 := base64.StdEncoding.DecodeString(parts[3])
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(name))
	return errors.Join(err1, err2) == nil && hmac.Equal(mac.Sum(nil), sum)
}

// algorithmsOf returns the algorithms of known keys first, as ssh prefers them, then all other ones.
func algorithmsOf(keys []ssh.PublicKey) (out []string) {
	for _, key := range keys {
		if kind := key.Type(); kind == ssh.KeyAlgoRSA {
			out = append(out, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			out = append(out, kind)
		}
	}
	for _, kind := range []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256} {
		if !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	return out
}
