package openstack_test

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/infratest"
	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// world is the fake cloud, with a stack of another client, for package infratest.
func (f *fake) world(t testing.TB, kind string) infratest.World {
	t.Helper()
	f.stacks["foreign"] = &fakeStack{Name: "foreign", ID: f.id(), status: "CREATE_COMPLETE", groups: map[string][]*member{"g": {{server: "foreign-server", port: "p", volume: "v"}}}}
	at, err1 := vnflcm.NewParams(map[string]string{"endpoint": f.URL + "/v3"})
	who, err2 := vnflcm.NewParams(map[string]string{"username": "u", "password": secret, "project": "nfv"})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return infratest.World{
		VIM: vnflcm.VimConnectionInfo{VimType: kind, InterfaceInfo: at, AccessInfo: who},
		Driver: func() vnflcm.InfraDriver {
			d := openstack.New(openstack.Config{Poll: time.Millisecond})
			t.Cleanup(d.Close)
			return d
		},
		Machines: func(context.Context) (servers []string, err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.each(func(m *member) { servers = append(servers, m.server) })
			return servers, nil
		},
		Others: func(context.Context) (list []string, err error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, s := range f.stacks {
				list = append(list, "stack "+s.ID)
			}
			f.each(func(m *member) { list = append(list, "port "+m.port) })
			return list, nil
		},
		OnChange: f.onChange,
	}
}

// onChange has before decide about each later request that changes a resource.
func (f *fake) onChange(before func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before == nil {
		f.fault = nil
		return
	}
	f.fault = func(r *http.Request) int {
		if r.Method == http.MethodGet || r.URL.Path == "/v3/auth/tokens" || before() == nil {
			return 0
		}
		return -1
	}
}

// TestInfraDriver: the driver follows the rules of infrastructure drivers.
func TestInfraDriver(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{openstack.VimTypeV1, openstack.VimTypeV2} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == openstack.VimTypeV1 {
				fulltest.SkipVariant(t)
			}
			request := (&lab{t: t}).request("")
			infratest.Run(t, infratest.Setup{Package: tosca.File(samples), Request: request, Aspect: "worker_instance", Sample: !fulltest.Enabled(),
				Changed: tosca.File(nextPackage(t, slices.Concat(nextImage, nextFlavor)...)),
				Links:   []vnflcm.ExtVirtualLinkData{{ID: "other", ResourceID: "other-net", ExtCps: []vnflcm.VnfExtCpData{{CpdID: "workerNode_CP2"}}}},
				Open: func(t testing.TB) infratest.World {
					t.Helper()
					return newFake(t.(*testing.T)).world(t, kind)
				}})
		})
	}
}
