package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestReplacedHost: a machine with another key at the same address is not taken for the one that was known,
// until its key is forgotten or it comes under another id.
func TestReplacedHost(t *testing.T) {
	keys := &sshtest.HostKeyStore{}
	machine := newHost(t, vmhost.Spec{})
	target := targetOf(t, machine)
	target.HostKeys = sshexec.AcceptNewHostKeys(keys)
	pool := newPool(t, sshexec.Options{})
	host := pool.Host(target)
	must(t, host.Wait(within(t, time.Minute)))
	must(t, machine.ReplaceHostKey(within(t, time.Minute)))
	must(t, machine.CutConnections(within(t, time.Minute)))

	err := host.Wait(within(t, time.Minute))
	mismatch, ok := errors.AsType[*sshexec.HostKeyError](err)
	if !ok || !errors.Is(err, sshexec.ErrHostKey) {
		t.Fatalf("got %v", err)
	}
	if len(mismatch.Known) != 1 || mismatch.Got == "" || mismatch.Known[0] == mismatch.Got ||
		!strings.Contains(err.Error(), mismatch.Known[0]) || !strings.Contains(err.Error(), mismatch.Got) {
		t.Errorf("the error does not name both fingerprints: %v", err)
	}
	if now := run(t, "ssh-keygen", "-E", "sha256", "-lf", hostKeyFile(t, machine)); !strings.Contains(now, mismatch.Got) {
		t.Errorf("the fingerprint is not that of ssh-keygen: %s, %s", mismatch.Got, now)
	}
	renewed := target
	renewed.ID = "another machine"
	if err := pool.Host(renewed).Wait(within(t, time.Minute)); err != nil {
		t.Errorf("under its own id: %v", err)
	}
	must(t, host.ForgetKey(within(t, time.Minute)))
	if err := host.Wait(within(t, time.Minute)); err != nil {
		t.Errorf("forgotten: %v", err)
	}
}

// hostKeyFile keeps the public key of a host in a file.
func hostKeyFile(t *testing.T, machine *vmhost.Host) string {
	t.Helper()
	key, err := machine.HostKey()
	must(t, err)
	file := filepath.Join(t.TempDir(), "host.pub")
	must(t, os.WriteFile(file, []byte(key+"\n"), 0o600))
	return file
}

// TestKnownHosts: files as ssh-keyscan and ssh-keygen make them, for a host with keys of three types, of which
// a file may know one only, and a certificate.
func TestKnownHosts(t *testing.T) {
	needSite(t)
	dir := t.TempDir()
	ca := keygen(t, dir, "ca", "", "-t", "ed25519")
	machine := newHost(t, vmhost.Spec{Off: true, Config: []string{"HostKey /etc/ssh/ssh_host_rsa_key", "HostKey /etc/ssh/ssh_host_ecdsa_key",
		"HostCertificate /etc/ssh/ssh_host_ed25519_key-cert.pub"}})
	address := machine.Address.String()
	root(t, machine, "ssh-keygen", "-A")
	public := hostKeyFile(t, machine)
	run(t, "ssh-keygen", "-q", "-s", ca, "-h", "-I", "host", "-n", address, "-V", "-1m:+5m", public)
	must(t, afero.WriteFile(machine.FS(), "/etc/ssh/ssh_host_ed25519_key-cert.pub", read(t, strings.TrimSuffix(public, ".pub")+"-cert.pub"), 0o644))
	must(t, machine.Boot())
	must(t, machine.Listening(within(t, time.Minute)))

	other := newHost(t, vmhost.Spec{})
	otherKey, err := other.HostKey()
	must(t, err)
	key, err := machine.HostKey()
	must(t, err)
	write := func(name, content string) string {
		file := filepath.Join(dir, name)
		must(t, os.WriteFile(file, []byte(content), 0o600))
		return file
	}
	hashed := func(file string) string {
		run(t, "ssh-keygen", "-q", "-H", "-f", file)
		return file
	}
	scan := func(types string) string { return run(t, "ssh-keyscan", "-t", types, address) }
	authority := string(read(t, ca+".pub"))
	hosts := strings.TrimSuffix(site.network.Prefix().Addr().String(), "0.0") + "*"
	for _, c := range []struct {
		name, file string
		want       error
	}{
		{"all keys", write("all", scan("ed25519,rsa,ecdsa")), nil},
		{"RSA only", write("rsa", scan("rsa")), nil},
		{"ECDSA only", write("ecdsa", scan("ecdsa")), nil},
		{"hashed", hashed(write("hashed", scan("ed25519,rsa")+other.Address.String()+" "+otherKey+"\n")), nil},
		{"hashed, ECDSA only", hashed(write("hashed-ecdsa", scan("ecdsa"))), nil},
		{"pattern", write("pattern", hosts+" "+key+"\n"), nil},
		{"with port", write("port", "["+address+"]:22 "+key+"\n"), nil},
		{"authority", write("authority", "@cert-authority "+hosts+" "+authority), nil},
		{"authority for others", write("elsewhere", "@cert-authority *.example.org "+authority), sshexec.ErrHostKey},
		{"authority that is revoked", write("revoked-authority", "@revoked * "+authority+"@cert-authority * "+authority), sshexec.ErrHostKey},
		{"revoked", write("revoked", scan("ed25519")+"@revoked * "+key+"\n"), sshexec.ErrHostKey},
		{"another key", write("another", address+" "+otherKey+"\n"), sshexec.ErrHostKey},
		{"not in it", write("other", other.Address.String()+" "+key+"\n"), sshexec.ErrHostKey},
		{"empty", write("empty", ""), sshexec.ErrHostKey},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := string(read(t, c.file))
			policy, err := sshexec.KnownHosts(c.file)
			must(t, err)
			target := targetOf(t, machine)
			target.HostKeys = policy
			err = newPool(t, sshexec.Options{}).Host(target).Run(within(t, time.Minute), []string{"true"}, nil, nil, nil)
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if string(read(t, c.file)) != before {
				t.Error("the file was written to")
			}
		})
	}
}

// TestListedHostKeys logs in to machines of which a list says what keys they may have, and to one that takes the place of another, as
// after a heal. A man in the middle, who has a key of his own, gets no password.
func TestListedHostKeys(t *testing.T) {
	machine, other := newHost(t, vmhost.Spec{}), newHost(t, vmhost.Spec{})
	key, err := machine.HostKey()
	must(t, err)
	otherKey, err := other.HostKey()
	must(t, err)
	store := &sshtest.HostKeyStore{}
	to := func(id string, at *vmhost.Host, listed ...string) error {
		target := targetOf(t, at)
		target.ID = id
		target.HostKeys, err = sshexec.AcceptListedHostKeys(store, listed...)
		must(t, err)
		return newPool(t, sshexec.Options{}).Host(target).Wait(within(t, time.Minute))
	}
	for _, c := range []struct {
		name, id string
		at       *vmhost.Host
		listed   []string
		want     error
	}{
		{"a man in the middle at the first login", "vm-1", other, []string{key}, sshexec.ErrHostKey},
		{"the machine", "vm-1", machine, []string{otherKey, key}, nil},
		{"a listed machine in the place of one that is known", "vm-1", other, []string{otherKey, key}, sshexec.ErrHostKey},
		{"a replaced machine that is not listed", "vm-2", other, []string{key}, sshexec.ErrHostKey},
		{"a replaced machine", "vm-2", other, []string{otherKey}, nil},
	} {
		if err := to(c.id, c.at, c.listed...); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if log := other.Log(); strings.Count(log, "Accepted password") != 1 || strings.Contains(log, "Failed password") {
		t.Errorf("a password was sent before the key was known:\n%s", log)
	}
}
