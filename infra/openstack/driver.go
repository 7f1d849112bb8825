package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// The vimTypes that requests name this driver by: register it under both. They also say which API of Tacker a
// request was written for; that matters to the healing of a whole VNF (Driver.Heal).
const (
	VimTypeV1 = "openstack"
	VimTypeV2 = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
)

// Config of a Driver. The zero Config is ready for use.
type Config struct {
	// UserData are functions of the caller's own, by the class name that requests give as
	// additionalParams.lcm-operation-user-data-class. They come before the built-in names "DefaultUserData"
	// and "StandardUserData".
	UserData map[string]UserData
	// DefaultForUnknown takes DefaultUserData for class names that are not registered. Without it a request
	// with an unknown class is refused.
	DefaultForUnknown bool
	// StackTimeout is how long Heat may work on a stack; it fails what takes longer, and if it does not, it is
	// told to stop. Whole minutes, default one hour.
	StackTimeout time.Duration
	// DeleteAttempts is how often a deletion that fails is tried, because Neutron or Nova still held a
	// resource. Default 5.
	DeleteAttempts int
	// ConsoleTimeout is how long a new server may take until its console log shows its host key, where the VIM's extra.host_keys
	// asks for that. Default 10 minutes.
	ConsoleTimeout time.Duration
	// Poll is the time between the first looks at a stack; it grows to tenfold. Default 1 s.
	Poll time.Duration
	// Transport carries the HTTP requests, below authentication and TLS settings of the VIM: for tests and
	// for proxies. Default: a transport of its own for each VIM.
	Transport http.RoundTripper
}

// Driver implements vnflcm.InfraDriver and vnflcm.ConnectivityChanger on OpenStack. It keeps authenticated
// clients between operations, until it is closed, and is safe for concurrent use.
type Driver struct {
	cfg    Config
	access *access.Cache
}

// New returns a driver.
func New(cfg Config) *Driver {
	cfg.StackTimeout = cmp.Or(cfg.StackTimeout, time.Hour)
	cfg.DeleteAttempts = cmp.Or(cfg.DeleteAttempts, 5)
	cfg.ConsoleTimeout = cmp.Or(cfg.ConsoleTimeout, 10*time.Minute)
	cfg.Poll = cmp.Or(cfg.Poll, time.Second)
	return &Driver{cfg: cfg, access: access.New(access.Config{Transport: cfg.Transport, UserAgent: "vnfkit"})}
}

// Close closes idle connections.
func (d *Driver) Close() { d.access.Close() }

var (
	_ vnflcm.InfraDriver         = (*Driver)(nil)
	_ vnflcm.ConnectivityChanger = (*Driver)(nil)
)

// StackError is what Heat could not do with a stack, with the first resource that failed and its reason.
type StackError = heat.StackError

// Errors about reaching the VIM.
var (
	// ErrAuth says that the VIM refuses the credentials: trying again does not help.
	ErrAuth = access.ErrAuth
	// ErrUnreachable says that a service of the VIM gave no answer: trying again may help.
	ErrUnreachable = access.ErrUnreachable
	// ErrEndpoint says that the service catalog lacks a service in the region, at the interface.
	ErrEndpoint = access.ErrEndpoint
	// ErrMicroversion says that a service is too old.
	ErrMicroversion = access.ErrMicroversion
)

// ErrForeignStack says that a stack of the name which belongs to the instance was made by somebody else. It is
// not touched.
var ErrForeignStack = errors.New("the stack was not made for this VNF instance")

// ErrNoStack says that the stack of an instantiated VNF is gone. Healing the whole VNF makes it anew.
var ErrNoStack = errors.New("the stack of the VNF does not exist")

// work is one operation with the clients that it needs.
type work struct {
	*Driver
	op      *vnflcm.Operation
	clients *access.Clients
	heat    *heat.Client
}

func (d *Driver) begin(ctx context.Context, op *vnflcm.Operation) (*work, error) {
	clients, err := d.access.Clients(ctx, op.VIM)
	if err != nil {
		return nil, err
	}
	return &work{Driver: d, op: op, clients: clients, heat: heat.New(clients.Heat, d.cfg.Poll, d.cfg.StackTimeout)}, nil
}

// StackName is the name of the stack of a VNF instance: the same as that of Tacker's version 2 API.
func StackName(instanceID string) string { return "vnf-" + instanceID }

// tags mark the stack as made for the instance.
func (w *work) tags() []string { return []string{"vnfkit", w.op.InstanceID} }

// find returns the stack of the instance, nil if it does not exist, ErrForeignStack if the stack with its name is another one. The
// stack has the id that the Manager has recorded: then it may have another name, and it may have lost its tags ("openstack stack
// update" without --existing), which apply gives back. Before an id is recorded, and after the recorded stack was deleted to be
// made again, the stack has the name and all tags.
func (w *work) find(ctx context.Context) (*heat.Stack, error) {
	if id := w.op.Metadata[metaStack]; id != "" {
		if s, err := w.heat.Find(ctx, id); err != nil || s != nil {
			return s, err
		}
	}
	s, err := w.heat.Find(ctx, StackName(w.op.InstanceID))
	if err != nil || s == nil {
		return nil, err
	}
	for _, tag := range w.tags() {
		if !slices.Contains(s.Tags, tag) {
			return nil, fmt.Errorf("%w: %s (%s) lacks the tag %s", ErrForeignStack, s.Name, s.ID, tag)
		}
	}
	return s, nil
}

// ErrOverdue says that Heat did not come to an end with a stack within Config.StackTimeout.
var ErrOverdue = heat.ErrOverdue

// atRest returns the stack when nothing is at work on it any more: an earlier process may have asked for an
// update before it died, an alarm may have had a group scaled. ErrNoStack when there is none.
func (w *work) atRest(ctx context.Context) (*heat.Stack, error) {
	s, err := w.find(ctx)
	if err == nil && s != nil {
		s, err = w.heat.AtRest(ctx, s, w.tell(ctx))
		err = w.stopped(ctx, err)
	}
	if err == nil && s == nil {
		err = fmt.Errorf("%w: %s", ErrNoStack, StackName(w.op.InstanceID))
	}
	if err == nil && s.Status.Complete() {
		err = w.groupsAtRest(ctx, s)
	}
	return s, err
}

// groupsAtRest waits until nothing is at work on a group. What a signal has begun there goes on while the stack itself
// is complete; an update would have Heat give that up as failed, and then itself ("Stack UPDATE cancelled"). Work that
// does not end in time was forgotten by Heat: the update takes it up.
func (w *work) groupsAtRest(ctx context.Context, s *heat.Stack) error {
	resources, err := w.heat.Resources(ctx, s)
	if err != nil {
		return err
	}
	for _, r := range resources {
		if !isGroup(r.Type) || r.Nested == "" {
			continue
		}
		group, err := w.heat.Get(ctx, &heat.Stack{Name: r.NestedName, ID: r.Nested})
		if err == nil {
			_, err = w.heat.AtRest(ctx, group, w.tell(ctx))
		}
		if err != nil && !errors.Is(err, ErrOverdue) {
			return err
		}
	}
	return nil
}

// tell reports what happens in the stack as progress of the step in ctx.
func (w *work) tell(ctx context.Context) heat.Observer {
	return func(e heat.Event) {
		text := e.Resource + " " + string(e.Status)
		if e.Status.Failed() {
			text += ": " + e.Reason
		}
		w.op.Report(ctx, text)
	}
}

// definition computes what the stack shall be. current are the parameters of the stack, nil when it is made; present are its servers.
func (w *work) definition(ctx context.Context, current map[string]string, present []server) (heat.Definition, error) {
	def, err := w.define(ctx, w.op, current)
	if err == nil {
		err = w.fillHostKeys(ctx, &def, present)
	}
	if err != nil {
		return heat.Definition{}, err
	}
	return heat.Definition{Template: def.Template.Text(), Files: def.Template.Files(), Parameters: def.Parameters}, nil
}

// define calls the user data function that the request names.
func (d *Driver) define(ctx context.Context, op *vnflcm.Operation, current map[string]string) (Definition, error) {
	userData, err := d.userData(op)
	if err != nil {
		return Definition{}, err
	}
	template, err := hot.Load(op.Package, op.Flavour.ID)
	if err != nil {
		return Definition{}, err
	}
	parameters, err := decoded(current, template)
	if err != nil {
		return Definition{}, err
	}
	images, err := uploadedImages(ctx, op)
	if err != nil {
		return Definition{}, err
	}
	fault := checkHostKeys(template, op)
	def, err := userData(ctx, UserDataRequest{Op: op, Template: template, Current: parameters, Images: images})
	return def, errors.Join(fault, err)
}
