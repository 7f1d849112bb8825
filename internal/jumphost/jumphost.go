package jumphost

import (
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/internal/login"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// attributes are extra.jump_host of a vimConnectionInfo: nodes on networks that only it sees are reached
// through it. It is an attribute of the VIM because each VIM has its own.
type attributes struct {
	Address string `json:"address"`
	login.Login
	HostKey string `json:"host_key"`
}

// Path is where the attribute is.
const Path = "vimConnectionInfo.extra.jump_host"

// Target reads and checks extra.jump_host of the VIM. It returns the jump host for machines and APIs, nil if there is
// none, and the names of attributes that have no effect. The trusted host key is host_key or, without that, the first
// one that the jump host shows, which is stored in keys. A jump host of the operator's VIM is Trusted. The error is every fault (*vnflcm.ParamError, joined).
func Target(vim vnflcm.VimConnectionInfo, keys sshexec.HostKeyStore) (target *sshexec.Target, unknown []string, err error) {
	j, unknown, err := read(vim)
	if j == nil || err != nil {
		return nil, unknown, err
	}
	target, err = j.target(keys)
	target.Trusted = vim.FromOperator
	return target, unknown, err
}

// Of returns extra.jump_host of a VIM as the request has it, nil without one: for the entries of other VIMs that are reached through
// the same host.
func Of(vim vnflcm.VimConnectionInfo) (any, error) {
	var extra struct {
		JumpHost map[string]any `json:"jump_host"`
	}
	if _, err := vim.Extra.Decode(&extra); err != nil || extra.JumpHost == nil {
		return nil, err
	}
	return extra.JumpHost, nil
}

func read(vim vnflcm.VimConnectionInfo) (j *attributes, unknown []string, err error) {
	extra := struct {
		JumpHost *attributes `json:"jump_host"`
	}{}
	names, err := vim.Extra.Decode(&extra)
	for _, name := range names {
		if inside, ok := strings.CutPrefix(name, "jump_host."); ok {
			unknown = append(unknown, inside)
		}
	}
	return extra.JumpHost, unknown, vnflcm.AtPath("vimConnectionInfo.extra", err)
}

// target checks and converts in one step, so that exactly the checked values are used.
func (j *attributes) target(keys sshexec.HostKeyStore) (*sshexec.Target, error) {
	c := &faults{}
	t := &sshexec.Target{Addr: c.address(j.Address), User: j.Username, Auth: c.auth(j)}
	t.ID, t.Name = t.Addr, "jump host "+t.Addr
	t.HostKeys = sshexec.AcceptNewHostKeys(keys)
	if j.HostKey != "" {
		var err error
		if t.HostKeys, err = sshexec.PinnedHostKeys(j.HostKey); err != nil {
			c.fault("host_key", "", "must be a public key in authorized_keys form, as ssh-keyscan writes it after the host name")
		}
	}
	return t, c.err()
}

// faults collects the faults of a jump host.
type faults struct{ list []error }

func (c *faults) fault(name, value, reason string) {
	c.list = append(c.list, &vnflcm.ParamError{Path: Path + "." + name, Value: value, Reason: reason})
}

// address returns host:port.
func (c *faults) address(text string) string {
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

func (c *faults) auth(j *attributes) []sshexec.Auth {
	auth, err := j.Auth("")
	c.list = append(c.list, vnflcm.AtPath(Path, err))
	return auth
}

func (c *faults) err() error { return errors.Join(c.list...) }
