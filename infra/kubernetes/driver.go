package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// The vimTypes of this driver in requests: register it under all three.
const (
	VimTypeV1   = "kubernetes"             // version 1 of Tacker's API
	VimTypeV2   = "ETSINFV.KUBERNETES.V_1" // version 2, manifests
	VimTypeHelm = "ETSINFV.HELM.V_3"       // version 2, charts
)

// HelmMode says who runs Helm.
type HelmMode string

// The modes of HelmMode.
const (
	// Auto uses the helm program on the machines that extra.helm_info of the VIM names; without them, Config.Helm.
	Auto HelmMode = ""
	CLI  HelmMode = "cli" // always the helm program: a VIM without helm_info is a fault of the request
	SDK  HelmMode = "sdk" // always Config.Helm
)

// Config of a Driver. The zero Config serves manifests; charts need SSH or Helm.
type Config struct {
	// SSH reaches the machines of clusters that have Helm, and the jump hosts of VIMs. The caller closes it.
	SSH *sshexec.Pool
	// Dial makes the connections to the APIs of VIMs without a jump host, such as sandbox.World.Dial. Default: directly, or
	// by the proxies of the environment.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Allow judges the addresses of VIMs that are not the operator's (vnflcm.VimConnectionInfo.FromOperator), and IP addresses
	// in the URLs of chart repositories. Default: outbound.RefuseLocal. Clients that Helm returns judge their connections
	// themselves (helmsdk.Config.Transport).
	Allow outbound.Policy
	// Cluster returns the connection to the cluster of a VIM if its credentials cannot be part of a VIM entry: the
	// credentials of this process in its own cluster (rest.InClusterConfig), of a cloud's identity service, or of a
	// program (ExecProvider). A nil result means to use the VIM entry. Otherwise the VIM needs no endpoint and no
	// credentials; its jump host is used. Cluster is called for every connection. The limits for answers, redirects and
	// times apply, unless the rest.Config has a Transport, which makes the connections itself. Nil: all VIM entries
	// have endpoint and credentials.
	Cluster func(ctx context.Context, vim vnflcm.VimConnectionInfo) (*rest.Config, error)
	// Helm makes a client that runs in this process, such as helmsdk.New. dir is a directory per VNF instance, which is
	// removed after the VNF has been terminated. Nil: only the helm program on machines of the cluster.
	Helm func(cluster *rest.Config, dir string) (helmclient.Client, error)
	// HelmBy overrides the choice. Default Auto.
	HelmBy HelmMode
	// Dir is the parent of the directories for Config.Helm. Required with Helm.
	Dir string
	// Charts keeps archives of charts of repositories that are larger than 2 MiB; smaller ones are kept sealed in the Manager's
	// store. Nil: for a larger chart, operations that upgrade or reinstall its release need its repository.
	Charts ChartStore
	// Ready is how long a step may take that creates, changes or replaces objects, or that waits until all objects are
	// ready. Default 10 minutes.
	Ready time.Duration
	// Gone is how long a step waits until deleted objects and pods no longer exist, beyond the grace period.
	// Default 5 minutes.
	Gone time.Duration
	// Hooks is the time limit for each hook of a chart. Default 5 minutes, as in Helm.
	Hooks time.Duration
	// StaleAfter is the age at which another client's unfinished operation on a release counts as dead. Default 10
	// minutes.
	StaleAfter time.Duration
}

// Driver implements vnflcm.InfraDriver on Kubernetes. It has no state between operations and is safe for concurrent
// use.
type Driver struct{ cfg Config }

// New returns a driver.
func New(cfg Config) *Driver {
	cfg.Ready = cmp.Or(cfg.Ready, 10*time.Minute)
	cfg.Gone = cmp.Or(cfg.Gone, 5*time.Minute)
	cfg.Hooks = cmp.Or(cfg.Hooks, 5*time.Minute)
	cfg.StaleAfter = cmp.Or(cfg.StaleAfter, 10*time.Minute)
	return &Driver{cfg: cfg}
}

var (
	_ vnflcm.InfraDriver = (*Driver)(nil)
	_ vnflcm.Adopter     = (*Driver)(nil)
)

// Errors about reaching the VIM.
var (
	// ErrAuth says that the cluster refuses the credentials: retrying does not help.
	ErrAuth = kubeaccess.ErrAuth
	// ErrUnreachable says that the API gave no answer: retrying may help.
	ErrUnreachable = kubeaccess.ErrUnreachable
	// ErrTLS says that the API does not prove its identity.
	ErrTLS = kubeaccess.ErrTLS
)

// ErrForeign says that an object has a name that the VNF needs and belongs to another client. The driver does not touch
// it.
var ErrForeign = objects.ErrForeign

// ErrForeignRelease says that a release has a name that the VNF needs and belongs to another client. The driver does
// not touch it.
var ErrForeignRelease = errors.New("the release was not made for this VNF instance")

// work is one operation with the clients that it needs.
type work struct {
	*Driver
	op      *vnflcm.Operation
	design  *design
	cluster *kubeaccess.Cluster
	objects *objects.Client
	adopted adopted
	helm    *helm         // nil with manifests
	vdus    []vduWorkload // nil before an instantiation, and for instances that an earlier version of vnfkit has made
	pulled  map[pulledChart][]byte
	// While the package changes, old is the same for the package that the VNF changes from, and planned are the workloads of the VDUs in
	// op.Package: nil if a chart cannot be rendered. planning says that nothing may be stored.
	old      *work
	planned  []vduWorkload
	planning bool
	closers  []func()
}

// begin reads the request and connects. The caller closes the work.
func (d *Driver) begin(ctx context.Context, op *vnflcm.Operation) (*work, error) {
	design, err := read(op)
	if err != nil {
		return nil, err
	}
	return d.connect(ctx, op, design)
}

// access returns the options for connections to clusters.
func (d *Driver) access(op *vnflcm.Operation) kubeaccess.Options {
	return kubeaccess.Options{SSH: d.cfg.SSH, HostKeys: hostKeys{hostkeys.Of(op)}, Log: op.Log, Dial: d.cfg.Dial, Allow: d.cfg.Allow, Cluster: d.cfg.Cluster, Patience: d.cfg.Ready,
		Waiting: func(ctx context.Context, reason error) { op.Report(ctx, "waiting: "+reason.Error()) }}
}

func (d *Driver) connect(ctx context.Context, op *vnflcm.Operation, design *design) (*work, error) {
	adopted, err := adoptedBy(ctx, op)
	if err != nil {
		return nil, err
	}
	cluster, err := kubeaccess.Open(ctx, op.VIM, d.access(op))
	if err != nil {
		return nil, err
	}
	w := &work{Driver: d, op: op, design: design, cluster: cluster, objects: objects.New(cluster), adopted: adopted, pulled: map[pulledChart][]byte{},
		closers: []func(){cluster.Close}}
	if design.namespace == "" {
		design.namespace = cmp.Or(cluster.DefaultNamespace, "default")
	}
	if len(design.releases) > 0 {
		w.helm, err = d.openHelm(op, cluster)
	}
	if err == nil {
		err = w.readVDUs(ctx)
	}
	if err == nil && op.Kind != vnflcm.OpInstantiate {
		err = w.mix(ctx)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *work) close() {
	for _, c := range w.closers {
		c()
	}
}

// within runs do with a time limit.
func within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, kubeaccess.Overdue(limit))
	defer cancel()
	return do(ctx)
}

// readyStep runs a step that has to succeed within Config.Ready.
func (w *work) readyStep(ctx context.Context, name string, do func(context.Context) error) error {
	return vnflcm.Do(ctx, w.op, name, "", func(ctx context.Context) error { return within(ctx, w.cfg.Ready, do) })
}
