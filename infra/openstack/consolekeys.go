package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	// hostKeysPath is the attribute of the VIM that says from where the driver reads host keys of servers.
	hostKeysPath = "vimConnectionInfo.extra.host_keys"
	// fromConsole is the value of host_keys for the console log.
	fromConsole = "console"
	// consoleKey is the prefix of the state keys of host keys from console logs. The id of the server follows.
	consoleKey = "openstack/console-key/"
)

// ErrNoHostKey says that the console log of a server has shown no host key within Config.ConsoleTimeout.
var ErrNoHostKey = errors.New("the console log shows no SSH host key between the lines that cloud-init writes: BEGIN and END SSH HOST KEY KEYS")

// readsConsole reports whether the VIM's extra.host_keys asks for host keys from console logs.
func readsConsole(vim vnflcm.VimConnectionInfo) (bool, error) {
	var extra struct {
		HostKeys string `json:"host_keys"`
	}
	if _, err := vim.Extra.Decode(&extra); err != nil {
		return false, vnflcm.AtPath("vimConnectionInfo.extra", err)
	}
	if extra.HostKeys != "" && extra.HostKeys != fromConsole {
		return false, &vnflcm.ParamError{Path: hostKeysPath, Value: extra.HostKeys, Reason: `must be "` + fromConsole + `", or left out`}
	}
	return extra.HostKeys == fromConsole, nil
}

// readConsoleKeys reads the host keys of the servers that the operation has created from their console logs, if the VIM's
// extra.host_keys is "console". It skips servers whose key the driver has generated, and deletes the keys of servers that
// do not exist any more.
func (w *work) readConsoleKeys(ctx context.Context) error {
	wanted, err := readsConsole(w.op.VIM)
	if err != nil || !wanted {
		return err
	}
	s, err := w.find(ctx)
	if err != nil || s == nil {
		return err
	}
	t, err := w.tree(ctx, s)
	if err != nil {
		return err
	}
	known, err := w.knownKeys(ctx)
	if err != nil {
		return err
	}
	list := t.servers()
	for id := range known.console {
		if !slices.ContainsFunc(list, func(s server) bool { return s.PhysicalID == id }) {
			if err := w.op.State().Delete(ctx, consoleKey+id); err != nil {
				return err
			}
		}
	}
	list = slices.DeleteFunc(list, func(s server) bool {
		_, made := known.pair(s.vdu, s.index)
		return made || known.console[s.PhysicalID] != "" || w.isFormer(s)
	})
	for _, s := range list {
		w.op.Declare(s.vnfc)
	}
	return vnflcm.Each(ctx, 0, list, func(ctx context.Context, s server) error {
		return vnflcm.Do(ctx, w.op, "read-host-key", s.vnfc, func(ctx context.Context) error {
			key, err := w.awaitConsoleKey(ctx, s)
			if err != nil {
				return err
			}
			return w.op.State().Put(ctx, consoleKey+s.PhysicalID, key)
		})
	})
}

// isFormer reports whether the server existed before the operation. Its console log may have lost the beginning.
func (w *work) isFormer(s server) bool {
	return slices.ContainsFunc(w.op.VNFCs, func(v vnflcm.VNFC) bool { return v.ResourceID == s.PhysicalID })
}

// awaitConsoleKey waits until the console log of a server shows a host key, and returns the key.
func (w *work) awaitConsoleKey(ctx context.Context, s server) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.cfg.ConsoleTimeout, fmt.Errorf("%w after %s", ErrNoHostKey, w.cfg.ConsoleTimeout))
	defer cancel()
	wait := retry.Begin(ctx, "a host key in the console log of server "+s.PhysicalID)
	defer wait.End()
	for pause := w.cfg.Poll; ; pause = min(2*pause, 10*w.cfg.Poll) {
		log, err := servers.ShowConsoleOutput(ctx, w.clients.Nova, s.PhysicalID, servers.ShowConsoleOutputOpts{}).Extract()
		if key := hostKeyIn(log); key != "" {
			return key, nil
		}
		busy := gophercloud.ResponseCodeIs(err, http.StatusConflict) // the server does not run yet
		refused := gophercloud.ResponseCodeIs(err, http.StatusNotImplemented)
		if err != nil && ctx.Err() == nil && (refused || !busy && !heat.Passing(err)) {
			return "", fmt.Errorf("read the console log of server %s: %w", s.PhysicalID, w.clients.Explain(err))
		}
		if err != nil {
			wait.Failed(w.clients.Explain(err))
		}
		if cause := retry.Pause(ctx, pause); cause != nil {
			return "", errors.Join(fmt.Errorf("server %s (VDU %s): %w", s.PhysicalID, s.vdu, cause), w.clients.Explain(err))
		}
	}
}

// The lines between which cloud-init writes host keys (tools/write-ssh-key-fingerprints, cc_keys_to_console).
const (
	keysBegin = "-----BEGIN SSH HOST KEY KEYS-----"
	keysEnd   = "-----END SSH HOST KEY KEYS-----"
)

// maxConsole is how many bytes at the end of a console log are searched. Nova's libvirt driver shows 100 KiB.
const maxConsole = 1 << 20

// hostKeyTypes lists the accepted types of keys. Of several keys the driver takes the one that is first in this list.
var hostKeyTypes = []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA}

// hostKeyIn returns a host key that cloud-init has written into a console log, or "". If the log shows several boots,
// the last one counts. Lines of the kernel may stand between the lines of cloud-init.
func hostKeyIn(log string) string {
	before, _, ended := cutLast(log[max(0, len(log)-maxConsole):], keysEnd)
	_, block, begun := cutLast(before, keysBegin)
	if !ended || !begun {
		return ""
	}
	var keys []ssh.PublicKey
	for line := range strings.Lines(block) {
		key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(strings.TrimSpace(line)))
		if err == nil && len(options) == 0 && slices.Contains(hostKeyTypes, key.Type()) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	best := slices.MinFunc(keys, func(a, b ssh.PublicKey) int {
		return cmp.Compare(slices.Index(hostKeyTypes, a.Type()), slices.Index(hostKeyTypes, b.Type()))
	})
	return authorizedKey(best, "console log")
}

// cutLast cuts text around the last sep.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// authorizedKey returns a key in the format of authorized_keys. The comment says where the key comes from; an error about
// a host key that does not match shows the comment.
func authorizedKey(key ssh.PublicKey, comment string) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))) + " " + comment
}
