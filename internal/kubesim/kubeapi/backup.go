package kubeapi

import (
	"encoding/json"
	"errors"
	"time"
)

// backup is what etcd has of a cluster. The keys are in files.
type backup struct {
	ID        string                `json:"id"`
	CA        string                `json:"ca"`
	Signer    string                `json:"signer"`
	Nodes     map[string]*Node      `json:"nodes"`
	Tokens    map[string]time.Time  `json:"tokens"`
	Objects   map[string]jsonObject `json:"objects"`
	Issued    map[string]issued     `json:"issued"`
	Revision  int                   `json:"revision"`
	Addresses int                   `json:"addresses,omitempty"`
}

// Backup returns what etcd has of the cluster, for Load.
func (c *Cluster) Backup() ([]byte, error) {
	return json.Marshal(backup{c.ID, c.CA, c.Signer, c.Nodes, c.Tokens, c.Objects, c.Issued, c.Revision, c.Addresses})
}

// bump is added to the revision of a restored cluster (etcdutl, --bump-revision).
const bump = 1000000000

// Adopt makes a new cluster the one of a backup, for Load. Clients and tokens of that one must be valid.
func (c *Cluster) Adopt(data []byte) error {
	var b backup
	if err := json.Unmarshal(data, &b); err != nil {
		return err
	}
	if b.CA != c.CA || b.Signer != c.Signer {
		return errors.New("kubesim: the control plane would have other keys than the cluster whose data it gets: no client and no token would be valid")
	}
	c.ID = b.ID
	return nil
}

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
