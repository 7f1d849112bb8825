package kubernetes_test

import (
	"context"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Ports are given in the manifests, so that it is known what they are to be. Those of "inner" are of no node.
const exposed = `apiVersion: v1
kind: Service
metadata: {name: api}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{name: https, port: 443, nodePort: 30443}, {name: http, port: 80, nodePort: 30080}]
---
apiVersion: v1
kind: Service
metadata: {name: dns}
spec:
  type: LoadBalancer
  selector: {app: web}
  ports: [{name: udp, port: 53, protocol: UDP, nodePort: 30053}, {name: tcp, port: 53, nodePort: 30053}]
---
apiVersion: v1
kind: Service
metadata: {name: direct}
spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, selector: {app: web}, ports: [{port: 81, nodePort: 0}]}
---
apiVersion: v1
kind: Service
metadata: {name: inner}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

// noted is an infrastructure driver that writes down which ports operations begin with, and which it reports.
type noted struct {
	vnflcm.InfraDriver
	mu          sync.Mutex
	began, told [][]vnflcm.NodePort
}

func (n *noted) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	n.mu.Lock()
	n.began = append(n.began, op.NodePorts)
	n.mu.Unlock()
	return n.InfraDriver.Plan(ctx, op)
}

func (n *noted) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	out, err := n.InfraDriver.Resources(ctx, op)
	n.mu.Lock()
	n.told = append(n.told, out.NodePorts)
	n.mu.Unlock()
	return out, err
}

func TestNodePorts(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]string{
		"manifests": `{"namespace": "shop", "lcm-kubernetes-def-files": ["Files/exposed.yaml", "Files/plain.yaml"]}`,
		"charts": `{"use_helm": true, "namespace": "shop", "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/exposed.tgz",
			"helmreleasename": "r"}, {"exthelmchart": false, "helmchartfile_path": "Files/both.tgz", "helmreleasename": "s"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, kubernetes.VimTypeV1)
			l.files["Files/exposed.yaml"] = &fstest.MapFile{Data: []byte(exposed)}
			l.files["Files/exposed.tgz"] = &fstest.MapFile{Data: chart("exposed", exposed).pack(t)}
			driver := &noted{InfraDriver: kubernetes.New(l.config())}
			l.Manager = l.compose(driver)
			l.instantiate("simple", params)
			l.terminate(vnflcm.TerminateForceful, `{}`)
			port := func(service, name, protocol string, n int) vnflcm.NodePort {
				return vnflcm.NodePort{Namespace: "shop", Service: service, Port: name, Protocol: protocol, NodePort: n}
			}
			ports := []vnflcm.NodePort{port("api", "http", "TCP", 30080), port("api", "https", "TCP", 30443),
				port("dns", "tcp", "TCP", 30053), port("dns", "udp", "UDP", 30053)}
			if diff := cmp.Diff([][]vnflcm.NodePort{nil, ports}, driver.began); diff != "" {
				t.Errorf("what operations begin with: %s", diff)
			}
			if diff := cmp.Diff([][]vnflcm.NodePort{ports, nil}, driver.told); diff != "" {
				t.Errorf("what the driver reports: %s", diff)
			}
		})
	}
}
