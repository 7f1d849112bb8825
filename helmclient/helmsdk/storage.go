package helmsdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
)

// storages is where releases are kept. Drivers that outlive a call are shared: Memory because it is all there is, SQL
// because each of Helm's drivers has a pool of connections that it never closes.
type storages struct {
	kind   Storage
	dsn    string
	shared inprocess.PerNamespace[driver.Driver]
}

// releases opens the records of the namespace of a call.
func (s *storages) releases(k *inprocess.Call) (*storage.Storage, error) {
	d, err := s.driver(k)
	if err != nil {
		return nil, err
	}
	out := storage.Init(complete{d})
	out.Log = k.Debug
	return out, nil
}

func (s *storages) driver(k *inprocess.Call) (driver.Driver, error) {
	namespace := k.Name.Namespace
	switch s.kind {
	case Memory:
		return s.shared.Driver(namespace, func() (driver.Driver, error) {
			d := driver.NewMemory()
			d.SetNamespace(namespace)
			return &copying{d}, nil
		})
	case SQL:
		return s.shared.Driver(namespace, func() (driver.Driver, error) {
			d, err := driver.NewSQL(s.dsn, func(string, ...any) {}, namespace)
			if err != nil {
				// The error may hold the connection string.
				return nil, fmt.Errorf("%w: database of releases", helmclient.ErrUnreachable)
			}
			return d, nil
		})
	case ConfigMaps:
		d := driver.NewConfigMaps(k.Records.CoreV1().ConfigMaps(namespace))
		d.Log = k.Debug
		return d, nil
	}
	d := driver.NewSecrets(k.Records.CoreV1().Secrets(namespace))
	d.Log = k.Debug
	return d, nil
}

// complete leaves out records without the part that Helm reads in its goroutines, as Helm's drivers leave out unreadable ones.
type complete struct{ driver.Driver }

// Get returns a record.
func (c complete) Get(key string) (*release.Release, error) {
	r, err := c.Driver.Get(key)
	if err == nil && r.Info == nil {
		return nil, fmt.Errorf("helm: record %s: has no info", key)
	}
	return r, err
}

// List returns the records that the filter accepts.
func (c complete) List(filter func(*release.Release) bool) ([]*release.Release, error) {
	return c.Driver.List(func(r *release.Release) bool { return r.Info != nil && filter(r) })
}

// Query returns the records with these labels.
func (c complete) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := c.Driver.Query(labels)
	return slices.DeleteFunc(list, func(r *release.Release) bool { return r.Info == nil }), err
}

// copying returns and stores copies: Helm's Memory returns the releases that it stores, and Helm changes a release
// after storing it, while other calls read it.
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

// clone copies a release through JSON, the format in which Helm's other drivers store it.
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
