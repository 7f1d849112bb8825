package sshexec

import (
	"context"
	"errors"
	"fmt"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	upstream "golang.org/x/crypto/ssh/knownhosts"
)

// KnownHosts trusts the keys that OpenSSH would trust by these known_hosts files: plain and hashed entries, patterns,
// @cert-authority and @revoked lines. A machine is looked up by Target.Addr; a machine that is not in the files is refused.
// KnownHosts reads the files to find syntax errors. They are read again for each connection and never written.
func KnownHosts(files ...string) (HostKeyPolicy, error) {
	if len(files) == 0 {
		return nil, errors.New("sshexec: no known_hosts file")
	}
	policy := knownHosts(files)
	if _, err := policy.read(); err != nil {
		return nil, fmt.Errorf("sshexec: %w", err)
	}
	return policy, nil
}

type knownHosts []string

func (k knownHosts) read() (*knownhosts.HostKeyDB, error) {
	db, err := knownhosts.NewDB(k...)
	if err != nil {
		return nil, fmt.Errorf("known_hosts: %w", err)
	}
	return db, nil
}

func (k knownHosts) known(_ context.Context, t Target) (identity, error) {
	db, err := k.read()
	if err != nil {
		return identity{}, err
	}
	known := identity{algorithms: db.HostKeyAlgorithms(t.Addr)}
	for _, key := range db.HostKeys(t.Addr) {
		known.prints = append(known.prints, fingerprint(key))
	}
	return known, nil
}

func (k knownHosts) accept(_ context.Context, t Target, key ssh.PublicKey) error {
	db, err := k.read()
	if err != nil {
		return err
	}
	err = db.HostKeyCallback()(t.Addr, addrOf(t.Addr), key)
	if err == nil {
		return nil
	}
	refused := mismatch(t, key, nil)
	var wanted *upstream.KeyError
	var revoked *upstream.RevokedError
	switch {
	case errors.As(err, &revoked):
		refused.Reason = "the key is revoked"
	case errors.As(err, &wanted):
		for _, k := range wanted.Want {
			refused.Known = append(refused.Known, fingerprint(k.Key))
		}
	default: // a certificate that is expired, for another host, or of an untrusted authority
		refused.Reason = err.Error()
	}
	return refused
}

// addrOf is Target.Addr as a net.Addr. The connection may have another address, because it may come from a jump host or from
// Options.Dial.
type addrOf string

func (addrOf) Network() string  { return "tcp" }
func (a addrOf) String() string { return string(a) }
