package e2e_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestHostKeyByCloudInit boots a machine whose user data has a host key, as the template of docs/host-keys.md makes it: the machine has
// that key, so it is known at the first login.
func TestHostKeyByCloudInit(t *testing.T) {
	parts := needParts(t, "kubeadm")
	key, other := sshtest.NewKey(t, ssh.KeyAlgoED25519), sshtest.NewKey(t, ssh.KeyAlgoRSA)
	pair, err := json.Marshal(map[string]string{"ed25519_private": string(key.PEM), "ed25519_public": key.Public})
	must(t, err)
	spec := vmhost.Spec{Name: "node", Password: password}
	cloudImage(parts, &spec, sampleUserData(t)+"ssh_deletekeys: true\nssh_keys: "+string(pair)+"\n", "")
	host, err := site.network.Create(t.Context(), spec)
	must(t, err)
	t.Cleanup(func() { must(t, host.Close()) })
	target := targetOf(t, host)
	pool := newPool(t, sshexec.Options{})
	reach := func(id, key string) error {
		target.ID = id
		target.HostKeys, err = sshexec.PinnedHostKeys(key)
		must(t, err)
		return pool.Host(target).Wait(within(t, 5*time.Minute))
	}
	must(t, reach("by its key", key.Public))
	if err := reach("by another key", other.Public); !errors.Is(err, sshexec.ErrHostKey) {
		t.Errorf("got %v", err)
	}
}
