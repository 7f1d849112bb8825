package helm4sdk

import (
	"fmt"
	"slices"

	"helm.sh/helm/v4/pkg/release"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage"
	"helm.sh/helm/v4/pkg/storage/driver"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
)

// storages is where releases are kept. Drivers of SQL are shared by all calls: each has a pool of connections that it
// never closes.
type storages struct {
	kind   Storage
	dsn    string
	shared inprocess.PerNamespace[driver.Driver]
}

// releases opens the records of the namespace of a call.
func (s *storages) releases(k *inprocess.Call, p *postRender) (*storage.Storage, error) {
	d, err := s.driver(k)
	if err != nil {
		return nil, err
	}
	out := storage.Init(complete{d, p})
	out.SetLogger(k.Log().Handler())
	return out, nil
}

func (s *storages) driver(k *inprocess.Call) (driver.Driver, error) {
	namespace, log := k.Name.Namespace, k.Log().Handler()
	switch s.kind {
	case SQL:
		return s.shared.Driver(namespace, func() (driver.Driver, error) {
			d, err := driver.NewSQL(s.dsn, namespace)
			if err != nil {
				// The error may hold the connection string.
				return nil, fmt.Errorf("%w: database of releases", helmclient.ErrUnreachable)
			}
			d.SetLogger(nil)
			return d, nil
		})
	case ConfigMaps:
		d := driver.NewConfigMaps(k.Records.CoreV1().ConfigMaps(namespace))
		d.SetLogger(log)
		return d, nil
	}
	d := driver.NewSecrets(k.Records.CoreV1().Secrets(namespace))
	d.SetLogger(log)
	return d, nil
}

// complete leaves out records without the part that Helm reads in its goroutines, as Helm's drivers leave out unreadable ones.
type complete struct {
	driver.Driver
	postRender *postRender
}

func (complete) has(r release.Releaser) bool {
	record, ok := r.(*releasev1.Release)
	return !ok || record != nil && record.Info != nil
}

// Get returns a record.
func (c complete) Get(key string) (release.Releaser, error) {
	r, err := c.Driver.Get(key)
	if err == nil && !c.has(r) {
		return nil, fmt.Errorf("helm: record %s: has no info", key)
	}
	return r, err
}

// List returns the records that the filter accepts.
func (c complete) List(filter func(release.Releaser) bool) ([]release.Releaser, error) {
	return c.Driver.List(func(r release.Releaser) bool { return c.has(r) && filter(r) })
}

// Query returns the records with these labels.
func (c complete) Query(labels map[string]string) ([]release.Releaser, error) {
	list, err := c.Driver.Query(labels)
	return slices.DeleteFunc(list, func(r release.Releaser) bool { return !c.has(r) }), err
}
