package kubeadm_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestKeysOfRequests: the machines accept only keys, with and without a passphrase. The keys of a scale or heal request are used
// instead of those of the instantiation.
func TestKeysOfRequests(t *testing.T) {
	t.Parallel()
	first, second, foreign := sshtest.NewKey(t, ssh.KeyAlgoECDSA256), sshtest.NewKey(t, ssh.KeyAlgoECDSA256), sshtest.NewKey(t, ssh.KeyAlgoECDSA256)
	l := openLab(t, setup{sandbox: sandbox.Config{AuthorizedKeys: []string{first.Public, second.Public}, Password: "unknown"},
		driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Login: 2 * time.Second}}})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0), with(t, fmt.Sprintf(
		`{"master_node":{"cluster_cp_name":"vip_CP","password":null,"private_key":%s,"passphrase":"phrase"},"worker_node":{"password":null,"private_key":%s}}`,
		clustertest.Quoted(clustertest.Protected(t, first, "phrase")), clustertest.Quoted(string(first.PEM)))))
	l.WantNodes(3, 1, 0)
	keys := func(controlPlaneNode, worker string) vnflcm.Params {
		params, err := vnflcm.ParseParams(fmt.Appendf(nil, `{"master_node_private_key":%s,"worker_node_private_key":%s,"worker_node_passphrase":"phrase"}`,
			clustertest.Quoted(controlPlaneNode), clustertest.Quoted(clustertest.Protected(t, sshtest.Key{PEM: []byte(worker)}, "phrase"))))
		if err != nil {
			t.Fatal(err)
		}
		return params
	}
	scale := func(controlPlaneNode, worker sshtest.Key) (string, error) {
		return l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 1,
			AdditionalParams: keys(string(controlPlaneNode.PEM), string(worker.PEM))})
	}
	refused := func(controlPlaneNode, worker sshtest.Key) (opID string) {
		opID, err := scale(controlPlaneNode, worker)
		if err := l.Fails(opID, err); !errors.Is(err, sshexec.ErrAuth) {
			t.Errorf("a foreign key: %v", err)
		}
		return opID
	}
	l.Must(scale(second, second))
	l.WantNodes(3, 2, 0)
	for _, vdu := range []string{"workerNode", "masterNode"} {
		for _, v := range l.VNFCs(id) {
			if v.VduID == vdu {
				l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{v.ID}, AdditionalParams: keys(string(second.PEM), string(second.PEM))}))
				break
			}
		}
	}
	l.WantNodes(3, 2, 0)
	if err := l.Fail(t.Context(), refused(second, foreign)); err != nil { // rolling back needs the login, too
		t.Fatal(err)
	}
	refused(foreign, second)
}
