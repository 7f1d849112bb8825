package sshexec_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestAcceptNewHostKeys(t *testing.T) {
	store := &sshtest.HostKeyStore{}
	first, second := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{})
	pool := newPool(t, sshexec.Options{})
	to := func(h *sshtest.Host) *sshexec.Host {
		tgt := target(t, h)
		tgt.HostKeys = sshexec.AcceptNewHostKeys(store)
		return pool.Host(tgt)
	}
	for range 2 {
		if err := to(first).Wait(withinMinutes(t)); err != nil {
			t.Fatal(err)
		}
	}
	if key := keptKey(t, store); key != first.PublicKey() {
		t.Fatalf("stored key %q", key)
	}
	// Another machine with the same ID is a final error, so Wait does not retry.
	err := to(second).Wait(withinMinutes(t))
	var mismatch *sshexec.HostKeyError
	if !errors.Is(err, sshexec.ErrHostKey) || !errors.As(err, &mismatch) {
		t.Fatalf("got %v", err)
	}
	want := &sshexec.HostKeyError{Host: "node1", Known: []string{printOf(t, first.PublicKey())}, Got: printOf(t, second.PublicKey())}
	if diff := cmp.Diff(want, mismatch); diff != "" {
		t.Error(diff)
	}
	if len(second.Commands()) > 0 || keptKey(t, store) != first.PublicKey() {
		t.Error("the other machine was used or its key was stored")
	}
}

func TestKnownKeyOfAnotherType(t *testing.T) {
	const other = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKgwFB9nkt5YRrYMjNuG5N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg="
	remote := sshtest.Start(t, sshtest.Config{})
	tgt := target(t, remote)
	var err error
	if tgt.HostKeys, err = sshexec.PinnedHostKeys(other + " root@node1"); err != nil {
		t.Fatal(err)
	}
	err = newPool(t, sshexec.Options{}).Host(tgt).Wait(withinMinutes(t))
	if !errors.Is(err, sshexec.ErrHostKey) || !strings.Contains(err.Error(), "known by "+printOf(t, other)+" (root@node1), presented") {
		t.Errorf("got %v", err)
	}
}

func TestPinnedHostKeysRefuses(t *testing.T) {
	for _, lines := range [][]string{nil, {"nonsense"}, {""}} {
		if _, err := sshexec.PinnedHostKeys(lines...); err == nil {
			t.Errorf("%q was accepted", lines)
		}
		if _, err := sshexec.AcceptListedHostKeys(&sshtest.HostKeyStore{}, lines...); err == nil {
			t.Errorf("the list %q was accepted", lines)
		}
	}
}

// TestAcceptListedHostKeys checks that the list decides about the first key of a machine, and not about later keys.
func TestAcceptListedHostKeys(t *testing.T) {
	rsa := sshtest.NewKey(t, ssh.KeyAlgoRSA)
	first, second := sshtest.Start(t, sshtest.Config{HostKeys: [][]byte{rsa.PEM}}), sshtest.Start(t, sshtest.Config{})
	for _, tt := range []struct {
		name         string
		kept, listed string // lines
		host         *sshtest.Host
		known        []string // in the error; nil if the key is trusted
		keeps        string
	}{
		{"listed", "", second.PublicKey() + "\n" + first.PublicKey(), first, nil, first.PublicKey()},
		{"listed by the key of another type", "", rsa.Public, first, nil, rsa.Public},
		{"not listed", "", second.PublicKey(), first, []string{printOf(t, second.PublicKey())}, ""},
		{"kept and no longer listed", first.PublicKey(), second.PublicKey(), first, nil, first.PublicKey()},
		{"listed, but another one is kept", first.PublicKey(), first.PublicKey() + "\n" + second.PublicKey(), second, []string{printOf(t, first.PublicKey())}, first.PublicKey()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &sshtest.HostKeyStore{}
			tgt := target(t, tt.host)
			if tt.kept != "" {
				if err := store.PutHostKey(t.Context(), tgt.ID, tt.kept); err != nil {
					t.Fatal(err)
				}
			}
			var err error
			if tgt.HostKeys, err = sshexec.AcceptListedHostKeys(store, strings.Split(tt.listed, "\n")...); err != nil {
				t.Fatal(err)
			}
			err = newPool(t, sshexec.Options{}).Host(tgt).Wait(withinMinutes(t))
			var got *sshexec.HostKeyError
			if !errors.As(err, &got) && err != nil {
				t.Fatal(err)
			}
			var known []string
			if got != nil {
				known = got.Known
			}
			if diff := cmp.Diff(tt.known, known); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if diff := cmp.Diff(strings.Fields(tt.keeps), strings.Fields(keptKey(t, store))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForgetKey(t *testing.T) {
	store := &sshtest.HostKeyStore{}
	remote := sshtest.Start(t, sshtest.Config{})
	to := target(t, remote)
	to.HostKeys = sshexec.AcceptNewHostKeys(store)
	pool := newPool(t, sshexec.Options{})
	host := pool.Host(to)
	run := func() error { return host.Run(withinMinutes(t), []string{"true"}, nil, nil, nil) }
	if err := run(); err != nil {
		t.Fatal(err)
	}
	if err := remote.ReplaceHostKey(); err != nil {
		t.Fatal(err)
	}
	remote.CutConnections()
	if err := run(); !errors.Is(err, sshexec.ErrHostKey) {
		t.Fatalf("got %v", err)
	}
	if err := host.ForgetKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := run(); err != nil {
		t.Error(err)
	}
	if keptKey(t, store) != remote.PublicKey() {
		t.Error("the new key was not stored")
	}
	if err := pool.Host(target(t, remote)).ForgetKey(t.Context()); err == nil {
		t.Error("a pinned key was forgotten")
	}
}

// TestKnownHosts checks that entries of every kind have the same effect as for ssh.
func TestKnownHosts(t *testing.T) {
	rsa, ed := sshtest.NewKey(t, ssh.KeyAlgoRSA), sshtest.NewKey(t, ssh.KeyAlgoED25519)
	ca, other := sshtest.NewKey(t, ssh.KeyAlgoED25519), sshtest.NewKey(t, ssh.KeyAlgoED25519)
	config := sshtest.Config{HostKey: ed.PEM, HostKeys: [][]byte{rsa.PEM}}
	single := sshtest.Start(t, sshtest.Config{HostKey: ed.PEM})
	plain := sshtest.Start(t, config)
	config.HostCertificates = []string{ca.SignHost(t, ed.Public, "127.0.0.1")}
	certified := sshtest.Start(t, config)
	config.HostCertificates = []string{ca.SignHost(t, ed.Public, "elsewhere")}
	misplaced := sshtest.Start(t, config)
	entry := func(h *sshtest.Host, key string) string { return knownhosts.Normalize(h.Addr()) + " " + key }
	for _, tt := range []struct {
		name string
		host *sshtest.Host
		text string
		want *sshexec.HostKeyError // without Host; nil if the key is trusted
	}{
		{"plain", plain, entry(plain, ed.Public), nil},
		{"hashed", plain, knownhosts.HashHostname(knownhosts.Normalize(plain.Addr())) + " " + ed.Public, nil},
		{"only the key of another type", plain, entry(plain, rsa.Public), nil},
		{"pattern", plain, strings.Replace(entry(plain, ed.Public), "127.0.0.1", "127.0.0.*", 1), nil},
		{"authority", certified, "@cert-authority * " + ca.Public, nil},
		{"not known", single, "# nobody\n", &sshexec.HostKeyError{Got: printOf(t, ed.Public)}},
		{"changed", plain, entry(plain, other.Public), &sshexec.HostKeyError{Known: []string{printOf(t, other.Public)}, Got: printOf(t, ed.Public)}},
		{"revoked", single, "@revoked * " + ed.Public, &sshexec.HostKeyError{Got: printOf(t, ed.Public), Reason: "the key is revoked"}},
		{"another authority", certified, "@cert-authority * " + other.Public, &sshexec.HostKeyError{Got: printOf(t, ed.Public), Reason: "no authorities"}},
		{"for another host", misplaced, "@cert-authority * " + ca.Public, &sshexec.HostKeyError{Got: printOf(t, ed.Public), Reason: "principal"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "known_hosts")
			if err := os.WriteFile(file, []byte(tt.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			to := target(t, tt.host)
			var err error
			if to.HostKeys, err = sshexec.KnownHosts(file); err != nil {
				t.Fatal(err)
			}
			err = newPool(t, sshexec.Options{}).Host(to).Wait(withinMinutes(t))
			var got *sshexec.HostKeyError
			if !errors.As(err, &got) && (tt.want != nil || err != nil) {
				t.Fatalf("got %v", err)
			}
			if tt.want != nil {
				tt.want.Host = "node1"
			}
			sameReason := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Reason" },
				cmp.Comparer(func(a, b string) bool {
					return (a == "") == (b == "") && (strings.Contains(a, b) || strings.Contains(b, a))
				}))
			if diff := cmp.Diff(tt.want, got, sameReason); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestKnownHostsIsReadAgain checks that an entry added to the file applies to the next connection.
func TestKnownHostsIsReadAgain(t *testing.T) {
	remote := sshtest.Start(t, sshtest.Config{})
	file := filepath.Join(t.TempDir(), "known_hosts")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	to := target(t, remote)
	var err error
	if to.HostKeys, err = sshexec.KnownHosts(file); err != nil {
		t.Fatal(err)
	}
	host := newPool(t, sshexec.Options{}).Host(to)
	if err := host.Wait(withinMinutes(t)); !errors.Is(err, sshexec.ErrHostKey) {
		t.Errorf("got %v", err)
	}
	write(knownhosts.Line([]string{remote.Addr()}, mustKey(t, remote.PublicKey())) + "\n")
	if err := host.Wait(withinMinutes(t)); err != nil {
		t.Error(err)
	}
	for _, files := range [][]string{nil, {file + ".none"}} {
		if _, err := sshexec.KnownHosts(files...); err == nil {
			t.Errorf("%q was accepted", files)
		}
	}
	write("nonsense")
	if _, err := sshexec.KnownHosts(file); err == nil {
		t.Error("nonsense was accepted")
	}
}

func mustKey(t *testing.T, line string) ssh.PublicKey {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func printOf(t *testing.T, line string) string {
	t.Helper()
	return ssh.FingerprintSHA256(mustKey(t, line))
}

// keptKey returns the stored key of the machine with the ID of target.
func keptKey(t *testing.T, store *sshtest.HostKeyStore) string {
	t.Helper()
	key, err := store.HostKey(t.Context(), "vm-1")
	if err != nil {
		t.Fatal(err)
	}
	return key
}
