package helmsdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes"

	"github.com/vnfkit/vnfkit/helmclient"
)

// releases opens the records of the namespace of the call.
func (k *call) releases() (*storage.Storage, error) {
	store, err := k.records()
	if err != nil {
		return nil, err
	}
	s := storage.Init(store)
	s.Log = k.debug
	return s, nil
}

func (k *call) records() (driver.Driver, error) {
	if k.client.storage == Memory || k.client.storage == SQL {
		return k.client.sharedRecords(k.name.Namespace)
	}
	clients, err := kubernetes.NewForConfig(k.config(true))
	if err != nil {
		return nil, fmt.Errorf("%w: Config.Cluster: %w", helmclient.ErrInvalid, err)
	}
	if k.client.storage == ConfigMaps {
		d := driver.NewConfigMaps(clients.CoreV1().ConfigMaps(k.name.Namespace))
		d.Log = k.debug
		return d, nil
	}
	d := driver.NewSecrets(clients.CoreV1().Secrets(k.name.Namespace))
	d.Log = k.debug
	return d, nil
}

// sharedRecords are those that outlive a call: Memory because it is all there is, SQL because each of Helm's drivers
// has a pool of connections that it never closes. One per namespace: which one it works for is state of the driver.
func (c *Client) sharedRecords(namespace string) (driver.Driver, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.shared[namespace]; d != nil {
		return d, nil
	}
	if c.storage == SQL {
		d, err := driver.NewSQL(c.dsn, func(string, ...any) {}, namespace)
		if err != nil {
			// The error may hold the connection string.
			return nil, fmt.Errorf("%w: database of releases", helmclient.ErrUnreachable)
		}
		c.shared[namespace] = d
		return d, nil
	}
	d := driver.NewMemory()
	d.SetNamespace(namespace)
	c.shared[namespace] = &copying{d}
	return c.shared[namespace], nil
}

// copying keeps copies: Helm's Memory hands out what it holds, and Helm goes on changing what it has stored, while
// other calls read it.
type copying struct{ driver.Driver }

func (m *copying) Create(key string, r *release.Release) error {
	c, err := clone(r)
	if err != nil {
		return err
	}
	return m.Driver.Create(key, c)
}

func (m *copying) Update(key string, r *release.Release) error {
	c, err := clone(r)
	if err != nil {
		return err
	}
	return m.Driver.Update(key, c)
}

func (m *copying) Get(key string) (*release.Release, error) {
	r, err := m.Driver.Get(key)
	if err != nil {
		return nil, err
	}
	return clone(r)
}

func (m *copying) List(filter func(*release.Release) bool) ([]*release.Release, error) {
	return clones(m.Driver.List(filter))
}

func (m *copying) Query(labels map[string]string) ([]*release.Release, error) {
	return clones(m.Driver.Query(labels))
}

func clones(list []*release.Release, err error) ([]*release.Release, error) {
	var faults []error
	for i, r := range list {
		c, cloneErr := clone(r)
		list[i], faults = c, append(faults, cloneErr)
	}
	return list, errors.Join(append(faults, err)...)
}

// clone goes through JSON, which is how Helm's other drivers keep a release.
func clone(r *release.Release) (*release.Release, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("helm: record of release %s: %w", r.Name, err)
	}
	out := &release.Release{}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("helm: record of release %s: %w", r.Name, err)
	}
	out.Labels = maps.Clone(r.Labels)
	return out, nil
}
