package sshexec

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Target describes a machine: its address, the login, and how its identity is checked.
//
// Hosts made from targets with equal ID, Addr, User, Auth, Via and Trusted share one connection. Each host checks the key of the
// machine with the HostKeys of its target.
type Target struct {
	// ID is the identity of the machine, for example the resource id of a VM. The host key is stored under ID. Default: Addr.
	ID string
	// Name is the name of the machine in messages and errors. Default: ID.
	Name string
	// Addr is host:port. The default port is 22. An IPv6 address is accepted with and without brackets.
	Addr string
	// User is the login user. Required.
	User string
	// Auth are the credentials, tried in this order. At least one is required, and at most one of them is a
	// [KeyboardInteractive].
	Auth []Auth
	// HostKeys decides which host keys are trusted. Required.
	HostKeys HostKeyPolicy
	// Sudo configures how the login user becomes root or another user. The zero value is for a sudo that does not ask for a
	// password. If User is "root", commands of root do not use sudo.
	Sudo Sudo
	// Via is the jump host through which Addr is reached, with separate credentials and host key. A jump host may have a Via
	// too. Machines behind the same jump host share the connection to it. Default: no jump host.
	Via *Target
	// Trusted is set if the operator of the program has chosen Addr. The pool then connects with Options.DialTrusted and does not
	// call Options.Allow. Default: Addr may come from a request.
	Trusted bool
	// LoginGrace is the time for which [Host.Wait] retries while a machine refuses the credentials, because new machines accept
	// connections before their users exist. Default: until the end of the context of Wait.
	LoginGrace time.Duration
}

// maxHops limits a chain of jump hosts, so that a circular chain is an error.
const maxHops = 8

// key identifies a connection.
type key struct {
	id, addr, user, auth, via string
	trusted                   bool
}

func (t Target) key() key {
	k := key{id: t.ID, addr: t.Addr, user: t.User, trusted: t.Trusted}
	marks := sha256.New()
	for _, a := range t.Auth {
		mark := a.method().mark
		marks.Write(mark[:])
	}
	k.auth = string(marks.Sum(nil))
	if t.Via != nil {
		k.via = t.Via.key().String()
	}
	return k
}

// String returns an unambiguous text without credentials.
func (k key) String() string {
	return fmt.Sprintf("%q %q %q %s %t (%s)", k.id, k.addr, k.user, hex.EncodeToString([]byte(k.auth)), k.trusted, k.via)
}

// withDefaults sets the defaults of empty fields. It never fails: the first call that needs the connection reports an invalid
// target.
func (t Target) withDefaults() Target { return t.filled(maxHops) }

func (t Target) filled(hops int) Target {
	if t.Addr != "" {
		t.Addr = withPort(t.Addr)
	}
	if t.ID == "" {
		t.ID = t.Addr
	}
	if t.Name == "" {
		t.Name = t.ID
	}
	if t.Via != nil && hops > 0 {
		via := t.Via.filled(hops - 1)
		t.Via = &via
	}
	return t
}

func withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), "22")
}

// validate returns every fault of t and of the jump hosts before it.
func (t Target) validate() error {
	var faults []error
	path := "Target"
	at, hops := &t, 0
	for ; at != nil && hops <= maxHops; at, hops = at.Via, hops+1 {
		for _, fault := range at.faults() {
			faults = append(faults, fmt.Errorf("%s.%s", path, fault))
		}
		path += ".Via"
	}
	if at != nil {
		faults = append(faults, fmt.Errorf("Target.Via: more than %d jump hosts", maxHops))
	}
	return errors.Join(faults...)
}

func (t Target) faults() (faults []string) {
	if t.Addr == "" {
		faults = append(faults, "Addr: no address")
	}
	if t.User == "" {
		faults = append(faults, "User: no user")
	}
	if t.HostKeys == nil {
		faults = append(faults, "HostKeys: no host key policy")
	}
	if len(t.Auth) == 0 {
		faults = append(faults, "Auth: no credentials")
	}
	interactive := 0
	for i, a := range t.Auth {
		if a.method == nil {
			faults = append(faults, fmt.Sprintf("Auth[%d]: empty credential", i))
		} else if a.method().answer != nil {
			interactive++
		}
	}
	if interactive > 1 {
		faults = append(faults, "Auth: more than one KeyboardInteractive")
	}
	return faults
}
