package kubeapi

import (
	"encoding/json"
	"time"
)

// backup is what etcd has of a cluster. The CA is in files.
type backup struct {
	Nodes     map[string]*Node      `json:"nodes"`
	Tokens    map[string]time.Time  `json:"tokens"`
	Objects   map[string]jsonObject `json:"objects"`
	Issued    map[string]issued     `json:"issued"`
	Revision  int                   `json:"revision"`
	Addresses int                   `json:"addresses,omitempty"`
}

// Backup returns what etcd has of the cluster, for Load.
func (c *Cluster) Backup() ([]byte, error) {
	return json.Marshal(backup{c.Nodes, c.Tokens, c.Objects, c.Issued, c.Revision, c.Addresses})
}

// bump is added to the revision of a restored cluster (etcdutl, --bump-revision).
const bump = 1000000000

// Load replaces what etcd has of the cluster. Watches end: what has changed is not known (etcdutl, --mark-compacted).
func (c *Cluster) Load(data []byte) error {
	var b backup
	if err := json.Unmarshal(data, &b); err != nil {
		return err
	}
	c.Nodes, c.Tokens, c.Objects, c.Issued, c.Addresses, c.Revision = b.Nodes, b.Tokens, b.Objects, b.Issued, b.Addresses, b.Revision+bump
	told := c.history.told
	c.history = history{before: c.Revision}
	if told != nil {
		close(told)
	}
	c.idleAt, c.since = 0, nil
	return nil
}
