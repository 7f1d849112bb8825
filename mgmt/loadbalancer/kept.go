package loadbalancer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Parts of CNFs are kept in the cluster too, where they outlive the machine of the load balancer: as ConfigMaps in
// KeptNamespace, named KeptPrefix and the id of the VNF instance, whose part is KeptKey, as JSON. Who sets up another machine
// reads them with Kept, puts them again, and leaves the host keys of the machine there, as KeptHostKeys: lines in
// authorized_keys form, by which drivers of CNFs know that it is the one they may log in to.
const (
	KeptNamespace  = "kube-system"
	KeptPrefix     = "vnfkit-lb-"
	KeptKey        = "part.json"
	KeptHostKeys   = "host-keys"
	KeptLabel      = "vnfkit.io/loadbalancer" // all have it
	KeptLabelValue = "part"
)

// Kept reads a part that is kept in a cluster, by the name and the data of its ConfigMap, and says whose it is. What is
// there is as trustworthy as who may write there: a part that brings machines of its own is refused, so that the load
// balancer leads to nodes of the cluster only, and Put checks the rest.
func Kept(name string, data map[string]string) (owner string, p Part, err error) {
	instance, ours := strings.CutPrefix(name, KeptPrefix)
	if !ours {
		return "", p, fmt.Errorf("loadbalancer: the ConfigMap %q is of somebody else", name)
	}
	if err := json.Unmarshal([]byte(data[KeptKey]), &p); err != nil {
		return "", Part{}, fmt.Errorf("loadbalancer: %s of the ConfigMap %s is no part: %w", KeptKey, name, err)
	}
	if len(p.Groups) > 0 {
		return "", Part{}, fmt.Errorf("loadbalancer: %s of the ConfigMap %s has machines of its own, which services must not have", KeptKey, name)
	}
	return OfCNF(instance), p, nil
}

// OfCNF is the owner of the part of a VNF instance that is a CNF.
func OfCNF(instanceID string) string { return "cnf/" + instanceID }

// OfCluster is the owner of the part of a VNF instance that is a cluster.
func OfCluster(instanceID string) string { return "cluster/" + instanceID }
