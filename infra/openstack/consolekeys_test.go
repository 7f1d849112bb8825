package openstack_test

import (
	_ "embed"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// keyedLab returns a lab whose VIM has source as extra.host_keys.
func keyedLab(t *testing.T, kind string, pkgs vnflcm.Packages, source any) *lab {
	t.Helper()
	l := newLabOf(t, kind, pkgs)
	vim, err := l.VIMs().Get(t.Context(), "", "vim")
	if err == nil && source != nil {
		vim.Extra, err = vnflcm.NewParams(map[string]any{"host_keys": source})
	}
	if err == nil {
		err = l.VIMs().Put(t.Context(), vim)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wantTold compares the host keys that the management driver got with the host keys of the servers.
func (l *lab) wantTold(want map[string]string) {
	l.t.Helper()
	l.mgmt.mu.Lock()
	defer l.mgmt.mu.Unlock()
	if diff := cmp.Diff(want, l.mgmt.told); diff != "" {
		l.t.Error(diff)
	}
}

// booted returns the console log of a server on which cloud-init has printed lines as the host keys.
func booted(lines ...string) string {
	before, after, _ := strings.Cut(recorded, "-----BEGIN SSH HOST KEY KEYS-----\r\n")
	_, after, _ = strings.Cut(after, "-----END")
	return before + "-----BEGIN SSH HOST KEY KEYS-----\r\n" + strings.Join(lines, "\r\n") + "\r\n-----END" + after
}

// recorded is the console log that cloud-init 22.4.2 of Debian 12 writes.
//
//go:embed testdata/console.log
var recorded string

// showKeys makes the console log of each server show a different key, and returns the keys by server.
func (l *lab) showKeys() map[string]string {
	keys := map[string]string{}
	l.console = func(server string) (int, string) {
		if keys[server] == "" {
			keys[server] = sshtest.NewKey(l.t, ssh.KeyAlgoED25519).Public
		}
		return http.StatusOK, booted(keys[server])
	}
	return keys
}

// wantKeys checks that the management driver has got, for each server, the key in the console log or the key that the stack
// has for the VDU.
func (l *lab) wantKeys(console map[string]string) {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), l.id)
	if err != nil {
		l.t.Fatal(err)
	}
	given, want := l.given(), map[string]string{}
	l.mu.Lock()
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		id := v.ComputeResource.ResourceID
		if want[id] = given[v.VduID]; want[id] == "" {
			want[id] = console[id] + " console log"
		}
	}
	l.mu.Unlock()
	l.wantTold(want)
}

func TestConsoleKeys(t *testing.T) {
	t.Parallel()
	ed, rsa, ecdsa := sshtest.NewKey(t, ssh.KeyAlgoED25519).Public, sshtest.NewKey(t, ssh.KeyAlgoRSA).Public, sshtest.NewKey(t, ssh.KeyAlgoECDSA256).Public
	other := sshtest.NewKey(t, ssh.KeyAlgoED25519).Public
	const ok = http.StatusOK
	type answer struct {
		status int
		log    string
	}
	for name, c := range map[string]struct {
		answers []answer // the last answer is repeated
		want    string
		err     error
		says    string
	}{
		"as it was recorded":          {answers: []answer{{ok, recorded}}, want: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGj3jr2QLzKEJIZyYO5KufttCylrA0l8gaWHl0mHGAWM"},
		"at once":                     {answers: []answer{{ok, booted(ecdsa+" root@worker", ed+" root@worker", rsa+" root@worker")}}, want: ed},
		"RSA only":                    {answers: []answer{{ok, booted(rsa)}}, want: rsa},
		"after a while":               {answers: []answer{{http.StatusConflict, "not ready"}, {http.StatusServiceUnavailable, ""}, {ok, ""}, {ok, strings.SplitN(booted(ed), ed, 2)[0] + ed}, {ok, booted(ed)}}, want: ed},
		"lines of the kernel":         {answers: []answer{{ok, booted(ecdsa, "[   12.5] IPv6: ADDRCONF(NETDEV_CHANGE): eth0", ed)}}, want: ed},
		"the last boot counts":        {answers: []answer{{ok, booted(other) + booted(ed)}}, want: ed},
		"the last boot has not ended": {answers: []answer{{ok, booted(ed) + "-----BEGIN SSH HOST KEY KEYS-----\n" + other}}, want: ed},
		"never":                       {answers: []answer{{ok, "FAKE CONSOLE OUTPUT\n"}}, err: openstack.ErrNoHostKey, says: "VDU "},
		"no keys":                     {answers: []answer{{ok, booted("ssh-dss AAAAB3NzaC1kc3MAAAA=", "command=\"x\" "+ed)}}, err: openstack.ErrNoHostKey},
		"not in this cloud":           {answers: []answer{{http.StatusNotImplemented, "Unable to get console log"}}, says: "read the console log of server"},
		"forbidden":                   {answers: []answer{{http.StatusForbidden, "Policy doesn't allow os_compute_api:os-console-output"}}, says: "os-console-output"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := keyedLab(t, openstack.VimTypeV2, packages, "console")
			if c.err != nil {
				l.cfg.ConsoleTimeout = 100 * time.Millisecond
				l.Manager = l.start()
			}
			looks := map[string]int{}
			l.console = func(server string) (int, string) {
				a := c.answers[min(looks[server], len(c.answers)-1)]
				looks[server]++
				return a.status, a.log
			}
			opID, err := l.instantiate()
			if err == nil {
				_, err = l.Wait(t.Context(), opID)
			}
			if c.want == "" {
				if err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for _, id := range l.servers() {
				want[id] = c.want + " console log"
			}
			l.wantTold(want)
		})
	}
}

// TestConsoleKeysOfLife checks that the key of each new server is read once. Logs of earlier servers may lack their beginning.
func TestConsoleKeysOfLife(t *testing.T) {
	t.Parallel()
	l := keyedLab(t, openstack.VimTypeV2, packages, "console")
	keys := l.showKeys()
	show := l.console
	l.console = func(server string) (int, string) {
		if keys[server] != "" {
			return http.StatusOK, "the beginning is lost"
		}
		return show(server)
	}
	check := func(map[string]string) {
		t.Helper()
		l.wantKeys(keys)
	}
	check(l.must(l.instantiate()))
	check(l.must(l.scale(vnflcm.ScaleOut, 2)))
	three := l.must(l.scale(vnflcm.ScaleIn, 2))
	check(three)
	for one := range three {
		check(l.must(l.heal("", one)))
		break
	}
	check(l.must(l.heal("true"))) // creates the whole stack again
	l.must(l.terminate())
}

func TestConsoleKeysRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"unknown": {"fingerprints", `vimConnectionInfo.extra.host_keys: "fingerprints": must be "console", or left out`},
		"no text": {[]string{"console"}, "vimConnectionInfo.extra.host_keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := keyedLab(t, openstack.VimTypeV2, packages, c.value)
			_, err := l.instantiate()
			if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if len(l.stacks) > 0 {
				t.Error("a stack was created")
			}
		})
	}
}
