package openstack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const hostKeysDeclared = "  ssh_host_keys: {type: json, hidden: true}\n"

// keyedPackage returns the sample package with a declaration of the parameter ssh_host_keys. taken maps a VDU to the path from which it
// reads its key.
func keyedPackage(t *testing.T, declared string, taken map[string]string) vnflcm.Packages {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(samples)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "BaseHOT/simple/simple_hot_top.yaml")
	text, err := os.ReadFile(name) //nolint:gosec // a file of this project
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "parameters:\n", "parameters:\n"+declared, 1)
	for vdu, from := range taken {
		image := "          image: { get_param: [ nfv, VDU, " + vdu + ", vcImageId ] }\n"
		changed = strings.ReplaceAll(changed, image, image+"          host_key: { get_param: "+from+" }\n")
	}
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return vnflcm.DirPackages(dir)
}

// given returns the public host keys in the parameters of the stack, by VDU, in the form in which the driver must report them. It checks
// that the private and the public key of each pair belong together.
func (l *lab) given() map[string]string {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	data, err := json.Marshal(l.stacks[openstack.StackName(l.id)].params["ssh_host_keys"])
	var keys map[string]struct {
		Private string `json:"ed25519_private"`
		Public  string `json:"ed25519_public"`
	}
	if err = errors.Join(err, json.Unmarshal(data, &keys)); err != nil {
		l.t.Fatal(err)
	}
	out := map[string]string{}
	for vdu, pair := range keys {
		private, err := ssh.ParsePrivateKey([]byte(pair.Private))
		if err != nil {
			l.t.Fatal(err)
		}
		if public := string(ssh.MarshalAuthorizedKey(private.PublicKey())); !strings.HasPrefix(pair.Public, strings.TrimSpace(public)) {
			l.t.Errorf("the keys of %s are %s and %s", vdu, public, pair.Public)
		}
		out[vdu] = pair.Public
	}
	return out
}

// TestMadeHostKeys checks that the machines of a VDU have the key that the driver created for the VDU, until the stack is replaced.
func TestMadeHostKeys(t *testing.T) {
	t.Parallel()
	l := keyedLab(t, openstack.VimTypeV2, keyedPackage(t, hostKeysDeclared,
		map[string]string{"masterNode": "[ ssh_host_keys, masterNode ]", "workerNode": "[ ssh_host_keys, workerNode ]"}), "console")
	check := func(map[string]string) map[string]string {
		t.Helper()
		given := l.given()
		if len(given) != 2 || given["masterNode"] == given["workerNode"] {
			t.Errorf("the stack has the keys %q", given)
		}
		l.wantKeys(nil)
		return given
	}
	first := check(l.must(l.instantiate()))
	check(l.must(l.scale(vnflcm.ScaleOut, 1)))
	servers := l.must(l.scale(vnflcm.ScaleIn, 1))
	for one := range servers {
		if diff := cmp.Diff(first, check(l.must(l.heal("", one)))); diff != "" {
			t.Errorf("other servers of the group would be replaced: %s", diff)
		}
	}
	again := check(l.must(l.heal("true")))
	for vdu := range first {
		if first[vdu] == again[vdu] {
			t.Errorf("the servers of %s have the same key as the servers of the former stack", vdu)
		}
	}
	records, err := l.store.List(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(records, func(r store.Record) bool { return bytes.Contains(r.Body, []byte("PRIVATE KEY")) }); i >= 0 {
		t.Errorf("a private key is in the clear in record %s %s", records[i].Kind, records[i].ID)
	}
	l.must(l.terminate())
	if said := fmt.Sprint(l.said); strings.Contains(said, "PRIVATE KEY") {
		t.Errorf("a private key was reported: %s", said)
	}
}

// TestSharedHostKey checks that healing keeps a key that several resources read, because Heat would replace all of them for a new key. If
// only the healed resource reads the key, it gets a new key.
func TestSharedHostKey(t *testing.T) {
	t.Parallel()
	l := keyedLab(t, openstack.VimTypeV2, keyedPackage(t, hostKeysDeclared,
		map[string]string{"masterNode": "[ ssh_host_keys, masterNode ]", "workerNode": "[ ssh_host_keys, workerNode ]"}), nil)
	l.loose = true
	l.must(l.instantiate())
	inst, err := l.Get(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		before := l.given()
		l.must(l.heal("", v.ID))
		after := l.given()
		l.wantKeys(nil)
		for vdu := range before {
			if renewed := before[vdu] != after[vdu]; renewed != (vdu == "masterNode" && v.VduID == vdu) {
				t.Errorf("after healing one %s the key of %s has changed: %t", v.VduID, vdu, renewed)
			}
		}
	}
}

// TestHostKeysWithOwnUserData checks host keys with a user data function that returns no parameters.
func TestHostKeysWithOwnUserData(t *testing.T) {
	t.Parallel()
	l := keyedLab(t, openstack.VimTypeV2, keyedPackage(t, hostKeysDeclared, map[string]string{"masterNode": "[ ssh_host_keys, masterNode ]"}), nil)
	l.cfg.UserData = map[string]openstack.UserData{"Bare": func(_ context.Context, req openstack.UserDataRequest) (openstack.Definition, error) {
		return openstack.Definition{Template: req.Template}, nil
	}}
	l.Manager = l.start()
	asked := false
	l.failing(func(r *http.Request) int {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/stacks") {
			asked = true
			return http.StatusBadRequest // the fake cannot create a stack without the parameter nfv
		}
		return 0
	})
	opID, err := l.Instantiate(t.Context(), l.id, l.request(`{"lcm-operation-user-data-class": "Bare", "lcm-operation-user-data": "x.py"}`))
	if err == nil {
		_, err = l.Wait(t.Context(), opID)
	}
	if err == nil || !asked {
		t.Errorf("Heat was asked: %t, error %v", asked, err)
	}
}

func TestHostKeysParameterRefused(t *testing.T) {
	t.Parallel()
	const good = "[ ssh_host_keys, masterNode ]"
	for name, c := range map[string]struct {
		declared, master, params string
		want                     string
	}{
		"shown":          {"  ssh_host_keys: {type: json}\n", good, "", "VNFD ssh_host_keys: is filled with private keys by the VNFM: it must have the type json and hidden: true (BaseHOT/simple/simple_hot_top.yaml:6)"},
		"text":           {"  ssh_host_keys: {type: string, hidden: true}\n", good, "", "it must have the type json and hidden: true"},
		"no VDU":         {hostKeysDeclared, "ssh_host_keys", "", "is taken without the name of a VDU: write get_param: [ssh_host_keys, <VDU>] (BaseHOT/simple/simple_hot_top.yaml:"},
		"a mistyped one": {hostKeysDeclared, "[ ssh_host_keys, master ]", "", "is taken without the name of a VDU"},
		"given": {hostKeysDeclared, good, `{"ssh_host_keys": {"masterNode": {"ed25519_private": "canary"}}}`,
			"additionalParams.ssh_host_keys: is filled by the VNFM, which makes the keys: leave it out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := keyedLab(t, openstack.VimTypeV2, keyedPackage(t, c.declared, map[string]string{"masterNode": c.master}), nil)
			request := l.request("")
			if c.params != "" {
				over, err := vnflcm.ParseParams([]byte(c.params))
				if err == nil {
					request.AdditionalParams, err = request.AdditionalParams.Merge(over)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			_, err := l.Instantiate(t.Context(), l.id, request)
			if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %v", err)
			}
			if len(l.stacks) > 0 {
				t.Error("a stack was created")
			}
		})
	}
}
