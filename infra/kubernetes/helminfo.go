package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient/helmcli"
	"github.com/vnfkit/vnfkit/internal/login"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// helmInfo is extra.helm_info of a VIM: the machines of the cluster that have Helm. They belong to one cluster; the
// driver can use any of them.
type helmInfo struct {
	Addresses []string `json:"masternode_ip"`
	helmLogin
	HostKeys []string `json:"masternode_host_keys"` // beyond Tacker; "address keytype base64"; without, a key is accepted when it is new
}

// helmLogin is a login.Login under Tacker's names; the key is not part of Tacker's format.
type helmLogin struct {
	Username   string        `json:"masternode_username"`
	Password   vnflcm.Secret `json:"masternode_password"`
	PrivateKey vnflcm.Secret `json:"masternode_private_key"`
	Passphrase vnflcm.Secret `json:"masternode_passphrase"`
}

const helmInfoPath = "vimConnectionInfo.extra.helm_info"

// readHelmInfo returns nil if the VIM has no helm_info.
func readHelmInfo(vim vnflcm.VimConnectionInfo) (*helmInfo, error) {
	var extra struct {
		HelmInfo json.RawMessage `json:"helm_info"`
	}
	if err := json.Unmarshal(vim.Extra.Reveal(), &extra); err != nil {
		return nil, &vnflcm.ParamError{Path: "vimConnectionInfo.extra", Reason: "cannot be read"}
	}
	raw := extra.HelmInfo
	if len(raw) == 0 || string(raw) == "null" || string(raw) == `""` {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil { // files of VIMs for Tacker's client contain it as text
		tree, err := parseLiteral(text)
		if err != nil {
			return nil, &vnflcm.ParamError{Path: helmInfoPath, Reason: "must be an object, or the text of one: " + err.Error()}
		}
		if raw, err = json.Marshal(tree); err != nil {
			return nil, &vnflcm.ParamError{Path: helmInfoPath, Reason: "must be an object"}
		}
	}
	attributes, err := vnflcm.ParseParams(raw)
	if err != nil {
		return nil, &vnflcm.ParamError{Path: helmInfoPath, Reason: "must be an object"}
	}
	info := &helmInfo{}
	_, err = attributes.Decode(info)
	err = vnflcm.AtPath(helmInfoPath, errors.Join(err, info.check()))
	return info, err
}

func (h *helmInfo) check() error {
	var list []error
	add := func(path, value, reason string) {
		list = append(list, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
	}
	if len(h.Addresses) == 0 {
		add("masternode_ip", "", "is required")
	}
	for i, a := range h.Addresses {
		if _, err := netip.ParseAddr(a); err != nil && (a == "" || strings.ContainsAny(a, " \t\r\n/@\x00") || strings.HasPrefix(a, "-")) {
			add(fmt.Sprintf("masternode_ip[%d]", i), a, "must be an address or a host name")
		}
	}
	list = append(list, login.Login(h.helmLogin).Validate("masternode_"))
	for i, line := range h.HostKeys {
		_, key, found := strings.Cut(line, " ")
		if _, err := sshexec.PinnedHostKeys(key); !found || err != nil {
			add(fmt.Sprintf("masternode_host_keys[%d]", i), line, `must be of the form "address keytype key"`)
		}
	}
	return errors.Join(list...)
}

// target returns how to reach one of the machines, which is trusted if the operator's entry names it.
func (h *helmInfo) target(address string, via *sshexec.Target, trusted bool, store sshexec.HostKeyStore) (sshexec.Target, error) {
	t := sshexec.Target{ID: "helm/" + address, Name: address, Addr: address, User: h.Username, Via: via, Trusted: trusted, HostKeys: sshexec.AcceptNewHostKeys(store)}
	var err error
	if t.Auth, err = login.Login(h.helmLogin).Auth("masternode_"); err != nil {
		return t, vnflcm.AtPath(helmInfoPath, err)
	}
	var keys []string
	for _, line := range h.HostKeys {
		if of, key, _ := strings.Cut(line, " "); of == address || strings.Trim(of, "[]") == address {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return t, nil
	}
	t.HostKeys, err = sshexec.PinnedHostKeys(keys...)
	return t, err
}

var _ helmcli.Runner = (*sshexec.Host)(nil)

// hostKeys lets Plan, which must not write, accept new host keys. Later phases accept and store them again.
type hostKeys struct{ sshexec.HostKeyStore }

func (k hostKeys) PutHostKey(ctx context.Context, id, key string) error {
	err := k.HostKeyStore.PutHostKey(ctx, id, key)
	if errors.Is(err, vnflcm.ErrProgramming) { // outside of a phase
		return nil
	}
	return err
}
