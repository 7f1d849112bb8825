package helmcli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Runner runs a command on the machine that has helm. *sshexec.Host is one. If the command ran and failed, the error
// has a method ExitCode() int, or CommandFailure() (host, command string, exitCode int, stderr string). Any other error
// means that the machine could not be reached or that the connection broke. When ctx ends, Runner ends the command,
// waits until it has ended, and returns an error that wraps the cause.
type Runner interface {
	Run(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error
}

// Machine has helm and reaches the cluster, such as a control-plane node. It also needs kubectl for helmclient.CRDCreateReplace, for
// all CRDs of charts with helm 4, to mark releases as failed, and for the events in a NotReadyError. kubectl uses the kubeconfig of
// helm: another client of the API would need credentials of its machine that have the same rights.
type Machine struct {
	Name   string // used in errors; required, unique
	Runner Runner // required
}

// Config names the machines that have helm.
type Config struct {
	Machines []Machine // at least one; tried in this order
	// Dir is an absolute path on the machines, created if it is missing (0700). It holds charts, repositories, caches
	// and credentials. Nothing is written elsewhere. The specification of Helm charts in Tacker uses
	// /var/tacker/helm/<instance>.
	Dir string
	// Kubeconfig is a file on the machines. Default: the file that helm uses for the user that runs it ($KUBECONFIG,
	// ~/.kube/config) or, if neither exists, /etc/kubernetes/admin.conf if it can be read.
	Kubeconfig string
	Namespace  string       // of requests that name no namespace; default "default"
	Log        *slog.Logger // default: none
}

// Client implements helmclient.Client.
type Client struct {
	config   Config
	machines []*machine

	mu        sync.Mutex
	preferred int                        // index of the machine that worked last
	working   map[helmclient.Name]bool   // releases that an operation is changing
	known     map[string]repository      // repositories that every machine must have
	forgotten map[string]map[string]bool // repository, machine: to be removed on that machine when it is next reached
}

var _ helmclient.Client = (*Client)(nil)

// New returns a client. It does not connect to a machine. Its error is an ErrInvalid that names the field.
func New(c Config) (*Client, error) {
	if len(c.Machines) == 0 {
		return nil, fmt.Errorf("%w: Config.Machines is empty", helmclient.ErrInvalid)
	}
	if !path.IsAbs(c.Dir) || path.Clean(c.Dir) == "/" || strings.ContainsAny(c.Dir, "\x00\n") {
		return nil, fmt.Errorf("%w: Config.Dir %q: must be the absolute path of a directory that nothing else uses", helmclient.ErrInvalid, c.Dir)
	}
	if c.Kubeconfig != "" && !path.IsAbs(c.Kubeconfig) {
		return nil, fmt.Errorf("%w: Config.Kubeconfig %q: must be absolute", helmclient.ErrInvalid, c.Kubeconfig)
	}
	c.Dir = path.Clean(c.Dir)
	if c.Namespace == "" {
		c.Namespace = "default"
	}
	if err := (helmclient.Name{Release: "x", Namespace: c.Namespace}).Validate(); err != nil {
		return nil, fmt.Errorf("Config.Namespace: %w", err)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	client := &Client{config: c, working: map[helmclient.Name]bool{}, known: map[string]repository{}, forgotten: map[string]map[string]bool{}}
	names := map[string]bool{}
	for i, m := range c.Machines {
		if m.Name == "" || m.Runner == nil || names[m.Name] {
			return nil, fmt.Errorf("%w: Config.Machines[%d]: Name and Runner are needed, each name once", helmclient.ErrInvalid, i)
		}
		names[m.Name] = true
		client.machines = append(client.machines, &machine{name: m.Name, runner: m.Runner, dir: c.Dir, kubeconfig: c.Kubeconfig})
	}
	return client, nil
}

// name checks a name and fills in the default namespace.
func (c *Client) name(n helmclient.Name) (helmclient.Name, error) {
	if n.Namespace == "" {
		n.Namespace = c.config.Namespace
	}
	return n, n.Validate()
}

// hold ensures that only one operation at a time changes a release.
func (c *Client) hold(n helmclient.Name) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.working[n] {
		return nil, fmt.Errorf("%w: %s", helmclient.ErrBusy, n)
	}
	c.working[n] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.working, n)
	}, nil
}
