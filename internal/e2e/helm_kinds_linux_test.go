package e2e_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helm4sdk"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
	"github.com/vnfkit/vnfkit/helmclient/helmsdk"
	"github.com/vnfkit/vnfkit/sshexec"
)

// helmOpening says how a process makes a client, so that another process can make the same one.
type helmOpening struct {
	Host, Token string // of the API: Helm in this process, unless there are masters
	CA          []byte
	Dir         string
	Helm4       bool // of Helm in this process

	Masters []helmMaster // helm on these machines
}

type helmMaster struct{ Name, Address, Key string }

func (o helmOpening) open() (client helmclient.Client, end func() error, err error) {
	if len(o.Masters) == 0 {
		open := helmInProcess
		if o.Helm4 {
			open = helm4InProcess
		}
		client, err := open(&rest.Config{Host: o.Host, BearerToken: o.Token, TLSClientConfig: rest.TLSClientConfig{CAData: o.CA}, QPS: -1}, o.Dir)
		return client, func() error { return nil }, err
	}
	// The kernel tries for two minutes to connect to a machine that is dead.
	pool := sshexec.NewPool(sshexec.Options{KeepAlive: 3 * time.Second, Dial: (&net.Dialer{Timeout: 3 * time.Second}).DialContext})
	var machines []helmcli.Machine
	for _, m := range o.Masters {
		keys, err := sshexec.PinnedHostKeys(m.Key)
		if err != nil {
			return nil, nil, errors.Join(err, pool.Close())
		}
		machines = append(machines, helmcli.Machine{Name: m.Name, Runner: pool.Host(sshexec.Target{ID: m.Address, Name: m.Name, Addr: m.Address,
			User: user, HostKeys: keys, Auth: []sshexec.Auth{sshexec.Password(password)}})})
	}
	c, err := helmcli.New(helmcli.Config{Machines: machines, Dir: o.Dir, Kubeconfig: "/etc/kubernetes/admin.conf"})
	return c, pool.Close, err
}

// helmInProcess is Helm 3 in this process.
func helmInProcess(cluster *rest.Config, dir string) (helmclient.Client, error) {
	return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir})
}

func helm4InProcess(cluster *rest.Config, dir string) (helmclient.Client, error) {
	return helm4sdk.New(helm4sdk.Config{Cluster: cluster, Dir: dir})
}

// opened is a client for the time of a test.
func (o helmOpening) opened(t testing.TB) helmclient.Client {
	t.Helper()
	client, end, err := o.open()
	must(t, err)
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// helmKind is a way to carry out what Helm is asked.
type helmKind struct {
	name    string
	prepare func(t testing.TB, cluster *rest.Config) (helmOpening, []*master)
}

func (k helmKind) open(t testing.TB, cluster *rest.Config) helmclient.Client {
	t.Helper()
	opening, _ := k.prepare(t, cluster)
	return opening.opened(t)
}

// helmKinds are those of Helm 3, which all scenarios run with. helm4Kinds pass the contract of helmclient, and take over
// from those of Helm 3.
var (
	helmKinds  = []helmKind{{"SDK", inThisProcess(false)}, {"CLI", onMasters(helm3Program)}}
	helm4Kinds = []helmKind{{"SDK4", inThisProcess(true)}, {"CLI4", onMasters(helm4Program)}}
)

func inThisProcess(helm4 bool) func(testing.TB, *rest.Config) (helmOpening, []*master) {
	return func(t testing.TB, c *rest.Config) (helmOpening, []*master) {
		return helmOpening{Host: c.Host, Token: c.BearerToken, CA: c.CAData, Dir: t.TempDir(), Helm4: helm4}, nil
	}
}

func onMasters(helm func(testing.TB) string) func(testing.TB, *rest.Config) (helmOpening, []*master) {
	return func(t testing.TB, c *rest.Config) (helmOpening, []*master) { return openCLI(t, c, 2, helm(t)) }
}

// openCLI makes masters with a program helm, and a client's way to them.
func openCLI(t testing.TB, cluster *rest.Config, n int, helm string) (helmOpening, []*master) {
	t.Helper()
	o, masters := helmOpening{Dir: helmDir + "/" + uuid.NewString()}, newMasters(t, cluster, n, helm)
	for _, m := range masters {
		key, err := m.machine.HostKey()
		must(t, err)
		o.Masters = append(o.Masters, helmMaster{m.machine.Name, m.machine.Address.String(), key})
	}
	return o, masters
}

// onEveryHelm runs a test with each kind of Helm 3.
func onEveryHelm(t *testing.T, test func(t *testing.T, k helmKind)) {
	t.Helper()
	for _, k := range helmKinds {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

// atWork reports whether helm runs on a machine.
func atWork(t testing.TB, masters []*master) bool {
	t.Helper()
	for _, m := range masters {
		list, err := m.machine.Processes()
		must(t, err)
		for _, p := range list {
			if strings.Contains(p, "helm ") {
				return true
			}
		}
	}
	return false
}

// hasPods reports whether the Deployment of a release has pods. The controllers need several requests to create them, so helm has
// read the API server's answer to its own request by then.
func hasPods(t testing.TB, api kubernetes.Interface, name helmclient.Name) bool {
	t.Helper()
	deployment, err := api.AppsV1().Deployments(name.Namespace).Get(context.WithoutCancel(t.Context()), name.Release, meta.GetOptions{})
	return err == nil && deployment.Status.Replicas > 0
}
