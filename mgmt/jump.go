package mgmt

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// jumpHost is extra.jump_host of a vimConnectionInfo: nodes on networks that only it sees are reached
// through it. It is an attribute of the VIM because each VIM has its own.
type jumpHost struct {
	Address    string        `json:"address"`
	Username   string        `json:"username"`
	Password   vnflcm.Secret `json:"password"`
	PrivateKey vnflcm.Secret `json:"private_key"`
	Passphrase vnflcm.Secret `json:"passphrase"`
	HostKey    string        `json:"host_key"`
}

const jumpHostPath = "vimConnectionInfo.extra.jump_host"

// CheckJumpHost reports every fault of extra.jump_host of the operation's VIM (*vnflcm.ParamError, joined),
// and warns of attributes that are not known. That there is no jump host is no fault. Drivers that use
// Access call it in Validate.
func CheckJumpHost(ctx context.Context, op *vnflcm.Operation) error {
	j, unknown, err := readJumpHost(op)
	for _, name := range unknown {
		op.Log.WarnContext(ctx, "attribute is not known and has no effect", "attribute", jumpHostPath+"."+name)
	}
	if j == nil || err != nil {
		return err
	}
	_, err = j.target(op)
	return err
}

// jumpTarget is where Access goes through, nil without a jump host.
func jumpTarget(op *vnflcm.Operation) (*sshexec.Target, error) {
	j, _, err := readJumpHost(op)
	if j == nil || err != nil {
		return nil, err
	}
	return j.target(op)
}

func readJumpHost(op *vnflcm.Operation) (j *jumpHost, unknown []string, err error) {
	extra := struct {
		JumpHost *jumpHost `json:"jump_host"`
	}{}
	names, err := op.VIM.Extra.Decode(&extra)
	for _, name := range names {
		if inside, ok := strings.CutPrefix(name, "jump_host."); ok {
			unknown = append(unknown, inside)
		}
	}
	return extra.JumpHost, unknown, vnflcm.AtPath("vimConnectionInfo.extra", err)
}

// target checks and translates in one: what was checked is what is used.
func (j *jumpHost) target(op *vnflcm.Operation) (*sshexec.Target, error) {
	c := &jumpFaults{}
	t := &sshexec.Target{Addr: c.address(j.Address), User: j.Username, Auth: c.auth(j)}
	t.ID, t.Name = t.Addr, "jump host "+t.Addr
	if j.Username == "" {
		c.fault("username", "", "is required")
	}
	t.HostKeys = sshexec.AcceptNewHostKeys(hostKeys{op})
	if j.HostKey != "" {
		var err error
		if t.HostKeys, err = sshexec.PinnedHostKeys(j.HostKey); err != nil {
			c.fault("host_key", "", "must be a public key in authorized_keys form, as ssh-keyscan writes it after the host name")
		}
	}
	return t, c.err()
}

// jumpFaults collects the faults of a jump host.
type jumpFaults struct{ faults []error }

func (c *jumpFaults) fault(name, value, reason string) {
	c.faults = append(c.faults, &vnflcm.ParamError{Path: jumpHostPath + "." + name, Value: value, Reason: reason})
}

// address returns host:port.
func (c *jumpFaults) address(text string) string {
	const reason = "must be a host name or an address, with a port or without: 203.0.113.5, jump.example:2222, [2001:db8::5]:22"
	if text == "" {
		c.fault("address", "", "is required")
		return ""
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
		if strings.Contains(bare, ":") && net.ParseIP(bare) == nil {
			c.fault("address", text, reason)
			return ""
		}
		host, port = bare, "22"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" || strings.ContainsAny(host, " \t\r\n/@[]") {
		c.fault("address", text, reason)
		return ""
	}
	return net.JoinHostPort(host, port)
}

func (c *jumpFaults) auth(j *jumpHost) []sshexec.Auth {
	var out []sshexec.Auth
	switch {
	case !j.PrivateKey.IsZero():
		var passphrase []string
		if !j.Passphrase.IsZero() {
			passphrase = append(passphrase, j.Passphrase.Reveal())
		}
		key, err := sshexec.PrivateKey([]byte(j.PrivateKey.Reveal()), passphrase...)
		if err != nil {
			// The error is left out: it may quote the key.
			c.fault("private_key", "", "must be a private key in PEM or OpenSSH form, with the passphrase that protects it and only then")
			break
		}
		out = append(out, key)
	case !j.Passphrase.IsZero():
		c.fault("passphrase", "", "is of no use without private_key")
	case j.Password.IsZero():
		c.fault("password", "", "is required, unless there is a private_key")
	}
	if !j.Password.IsZero() {
		out = append(out, sshexec.Password(j.Password.Reveal()))
	}
	return out
}

func (c *jumpFaults) err() error { return errors.Join(c.faults...) }
