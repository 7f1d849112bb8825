package sshexec

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// Target says which machine is meant, as whom one logs in there, and how the
// machine proves its identity.
//
// Hosts made from targets with equal ID, Addr and User share one connection;
// the credentials and the host key policy of whoever connects first are the
// ones that are used for it.
type Target struct {
	// ID is the identity of the machine, for example the resource id of a VM.
	// Its host key is kept under it. Default: Addr.
	ID string
	// Name is how messages and errors call the machine. Default: ID.
	Name string
	// Addr is host:port. Port 22 is meant when there is none. An IPv6 address
	// is accepted with and without brackets.
	Addr string
	// User is the login user. Required.
	User string
	// Auth lists the credentials, tried in this order. At least one is required.
	Auth []Auth
	// HostKeys decides which host keys are trusted. Required.
	HostKeys HostKeyPolicy
	// Sudo says how the login user becomes root. The zero value expects sudo
	// to ask for no password. It is not used when User is "root".
	Sudo Sudo
}

// key identifies a connection.
type key struct{ id, addr, user string }

func (t Target) key() key { return key{t.ID, t.Addr, t.User} }

// withDefaults fills what may be left out. It never fails: a target that
// cannot work is reported by the first call that needs the connection.
func (t Target) withDefaults() Target {
	if t.Addr != "" {
		t.Addr = withPort(t.Addr)
	}
	if t.ID == "" {
		t.ID = t.Addr
	}
	if t.Name == "" {
		t.Name = t.ID
	}
	return t
}

func withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), "22")
}

func (t Target) validate() error {
	switch {
	case t.Addr == "":
		return errors.New("no address")
	case t.User == "":
		return errors.New("no user")
	case len(t.Auth) == 0:
		return errors.New("no credentials (Target.Auth)")
	case t.HostKeys == nil:
		return errors.New("no host key policy (Target.HostKeys)")
	}
	for i, a := range t.Auth {
		if a.method == nil {
			return fmt.Errorf("empty credential (Target.Auth[%d])", i)
		}
	}
	return nil
}
