package helm4sdk

import (
	"fmt"

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
func (s *storages) releases(k *inprocess.Call) (*storage.Storage, error) {
	d, err := s.driver(k)
	if err != nil {
		return nil, err
	}
	out := storage.Init(d)
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
