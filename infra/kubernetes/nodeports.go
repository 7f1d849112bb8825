package kubernetes

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// nodePorts returns the node ports that the cluster has assigned to Services among the objects.
func (w *work) nodePorts(ctx context.Context, refs []objects.Ref) ([]vnflcm.NodePort, error) {
	services, err := w.objects.Services(ctx, refs)
	if err != nil {
		return nil, err
	}
	var out []vnflcm.NodePort
	for _, s := range services {
		if t := s.Spec.Type; t != corev1.ServiceTypeNodePort && t != corev1.ServiceTypeLoadBalancer {
			continue
		}
		for _, p := range s.Spec.Ports {
			if p.NodePort != 0 { // with allocateLoadBalancerNodePorts false there is no node port
				out = append(out, vnflcm.NodePort{Namespace: s.Namespace, Service: s.Name, Port: p.Name, Protocol: string(p.Protocol), NodePort: int(p.NodePort)})
			}
		}
	}
	slices.SortFunc(out, func(a, b vnflcm.NodePort) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Port, b.Port),
			cmp.Compare(a.NodePort, b.NodePort), cmp.Compare(a.Protocol, b.Protocol))
	})
	return out, nil
}
