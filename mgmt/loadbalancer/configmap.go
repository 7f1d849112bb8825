package loadbalancer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Parts of CNFs are also stored in the cluster, where they outlive the machine of the load balancer: as ConfigMaps in
// StoredNamespace with the name StoredPrefix + id of the VNF instance. StoredKey has the part as JSON. A driver that sets up
// a replacement machine reads them with ParseStored, puts them again, and stores the host keys of the machine as StoredHostKeys:
// lines in authorized_keys form. Drivers of CNFs trust these keys when they log in to the machine.
const (
	StoredNamespace  = "kube-system"
	StoredPrefix     = "vnfkit-lb-"
	StoredKey        = "part.json"
	StoredHostKeys   = "host-keys"
	StoredLabel      = "vnfkit.io/loadbalancer" // label of all these ConfigMaps
	StoredLabelValue = "part"
)

// ParseStored reads a part that is stored in a cluster, from the name and the data of its ConfigMap, and returns it with its
// owner. Everyone who may write ConfigMaps there can have changed it. Therefore a part with its own servers is refused,
// so that the load balancer leads only to nodes of the cluster; Put checks the rest.
func ParseStored(name string, data map[string]string) (owner string, p Part, err error) {
	instance, ours := strings.CutPrefix(name, StoredPrefix)
	if !ours {
		return "", p, fmt.Errorf("loadbalancer: the ConfigMap %q does not have the name of a part", name)
	}
	if err := json.Unmarshal([]byte(data[StoredKey]), &p); err != nil {
		return "", Part{}, fmt.Errorf("loadbalancer: %s of the ConfigMap %s is not a part: %w", StoredKey, name, err)
	}
	if len(p.Groups) > 0 {
		return "", Part{}, fmt.Errorf("loadbalancer: %s of the ConfigMap %s names machines, which services must not do", StoredKey, name)
	}
	return CNFOwner(instance), p, nil
}

// CNFOwner returns the owner of the part of a CNF instance.
func CNFOwner(instanceID string) string { return "cnf/" + instanceID }

// ClusterOwner returns the owner of the part of a cluster instance.
func ClusterOwner(instanceID string) string { return "cluster/" + instanceID }
