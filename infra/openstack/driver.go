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
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// The vimTypes of OpenStack in requests: register the driver under both. The vimType also says for which version of
// Tacker's API a request was written. The healing of a whole VNF depends on that version (Driver.Heal).
const (
	VimTypeV1 = "openstack"
	VimTypeV2 = "ETSINFV.OPENSTACK_KEYSTONE.V_3"
)

// Config of a Driver. The zero Config is ready for use.
type Config struct {
	// UserData holds the caller's functions by class name. Requests name a class in
	// additionalParams.lcm-operation-user-data-class. A function here takes precedence over the built-in classes
	// "DefaultUserData" and "StandardUserData".
	UserData map[string]UserData
	// DefaultForUnknown uses DefaultUserData if a request names a class that is not registered. Default: the driver
	// refuses the request.
	DefaultForUnknown bool
	// StackTimeout is the longest time that Heat may take for one action on a stack, in whole minutes. Heat fails a
	// longer action; if Heat does not, the driver tells Heat to stop. Default one hour.
	StackTimeout time.Duration
	// DeleteAttempts is how often the driver tries to delete a stack. A deletion fails while Neutron or Nova still use a
	// resource. Default 5.
	DeleteAttempts int
	// ConsoleTimeout is how long a new server may take until its console log shows its host key, where the VIM's extra.host_keys
	// asks for that. Default 10 minutes.
	ConsoleTimeout time.Duration
	// Poll is the time between the first two requests for the state of a stack. It grows up to tenfold. Default 1 s.
	Poll time.Duration
	// Allow judges the addresses to which the driver connects for a VIM that is not the operator's
	// (vnflcm.VimConnectionInfo.FromOperator): its Keystone and the services in the catalog. Default: outbound.RefuseLocal.
	Allow outbound.Policy
	// Transport sends the HTTP requests, for tests and for proxies. The driver adds authentication to the requests; the
	// TLS settings of the VIM are not applied to this transport, and Allow is not asked. Default: a separate transport for
	// each VIM.
	Transport http.RoundTripper
}

// Driver implements vnflcm.InfraDriver, vnflcm.ConnectivityChanger and vnflcm.PackageChanger on OpenStack. It keeps authenticated clients
// between operations. It is safe for concurrent use.
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
	return &Driver{cfg: cfg, access: access.New(access.Config{Allow: cfg.Allow, Transport: cfg.Transport, UserAgent: "vnfkit"})}
}

// Close closes idle connections. The driver can be used afterwards; it opens new connections.
func (d *Driver) Close() { d.access.Close() }

var (
	_ vnflcm.InfraDriver         = (*Driver)(nil)
	_ vnflcm.ConnectivityChanger = (*Driver)(nil)
)

// StackError reports that an action of Heat on a stack failed. It names the first resource that failed and Heat's reason.
type StackError = heat.StackError

// Errors about reaching the VIM.
var (
	// ErrAuth says that the VIM refuses the credentials. A retry with the same credentials fails as well.
	ErrAuth = access.ErrAuth
	// ErrUnreachable says that a service of the VIM gave no answer. A retry can succeed.
	ErrUnreachable = access.ErrUnreachable
	// ErrEndpoint says that the service catalog has no endpoint of a required service for the region and the interface
	// of the VIM's entry.
	ErrEndpoint = access.ErrEndpoint
	// ErrMicroversion says that a service does not support the microversion that the driver needs.
	ErrMicroversion = access.ErrMicroversion
)

// ErrForeignStack says that Heat has a stack with the name of the instance's stack (StackName), but another program or
// another VNF instance created that stack. The driver does not change or delete it.
var ErrForeignStack = errors.New("the stack was not made for this VNF instance")

// ErrNoStack says that the stack of the VNF instance does not exist, for example because an operator deleted it. Healing
// the whole VNF can create a new stack: see Driver.Heal.
var ErrNoStack = errors.New("the stack of the VNF does not exist")

// ErrNoUpdate says that the stack is in a state in which Heat refuses updates: suspended, or deleted in part. The error names the remedy.
var ErrNoUpdate = errors.New("Heat does not update the stack") //nolint:staticcheck // Heat is a name

// work is one operation with the clients of its VIM.
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

// StackName returns the name of the stack of a VNF instance. Tacker's version 2 API uses the same name.
func StackName(instanceID string) string { return "vnf-" + instanceID }

// ownTag is the tag of all stacks that this driver has created.
const ownTag = "vnfkit"

// tags returns the tags that show for which instance a stack was created.
func (w *work) tags() []string { return []string{ownTag, w.op.InstanceID} }

// find returns the stack of the instance, or nil if it does not exist. It first looks for the id that the Manager has
// recorded. A stack with that id may have another name, and it may have lost its tags ("openstack stack update" without
// --existing); apply restores the tags. If there is no recorded id, or no stack with that id, find looks for the name.
// It returns ErrForeignStack if the stack with the name lacks one of the tags.
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

// ErrOverdue says that Heat did not finish an action on a stack within Config.StackTimeout.
var ErrOverdue = heat.ErrOverdue

// atRest waits until Heat does not change the stack, and returns it, ErrNoStack or ErrNoUpdate. Heat may still change the stack when
// an operation begins: an earlier process may have asked for an update before it died, or an alarm may scale a group.
func (w *work) atRest(ctx context.Context) (*heat.Stack, error) {
	s, err := w.find(ctx)
	if err == nil && s != nil {
		s, err = w.heat.AtRest(ctx, s, w.tell(ctx))
		err = w.stopped(ctx, err)
	}
	if err == nil && s == nil {
		err = fmt.Errorf("%w: %s", ErrNoStack, StackName(w.op.InstanceID))
	}
	if err == nil {
		err = checkUpdatable(s)
	}
	if err == nil && s.Status.Complete() {
		err = w.groupsAtRest(ctx, s)
	}
	return s, err
}

// checkUpdatable returns ErrNoUpdate if Heat refuses to update the stack (heat.engine.service, _prepare_stack_updates). Heat gives no remedy.
func checkUpdatable(s *heat.Stack) error {
	remedy := ""
	switch s.Status.Action() {
	case "SUSPEND":
		remedy = "resume the stack, then retry"
	case "DELETE":
		remedy = "heal the whole VNF with additionalParams.all, which creates the stack again, or terminate it"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s is %s: %s", ErrNoUpdate, s.Name, s.Status, remedy)
}

// groupsAtRest waits until Heat does not change any group of the stack. After a signal Heat changes a group although the
// stack itself is complete. An update at this time would fail the change of the group and then the update as well ("Stack
// UPDATE cancelled"). ErrOverdue is ignored: Heat has lost the change of the group, and the next update completes it.
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

// tell returns an observer that reports events of the stack as progress of the step in ctx.
func (w *work) tell(ctx context.Context) heat.Observer {
	return func(e heat.Event) {
		text := e.Resource + " " + string(e.Status)
		if e.Status.Failed() {
			text += ": " + e.Reason
		}
		w.op.Report(ctx, text)
	}
}

// definition computes the definition that the operation wants for the stack. present holds the servers of the stack; both are nil if the
// stack is to be created.
func (w *work) definition(ctx context.Context, s *heat.Stack, present []server) (heat.Definition, error) {
	var current map[string]string
	if s != nil {
		current = s.Parameters
	}
	def, err := w.defineFor(ctx, current, present)
	if err == nil && s != nil {
		err = w.keepNames(ctx, s, def.Template)
	}
	if err != nil {
		return heat.Definition{}, err
	}
	return heat.Definition{Template: def.Template.Text(), Files: def.Template.Files(), Parameters: def.Parameters}, nil
}

// defineFor calls the user data function and fills the host keys.
func (w *work) defineFor(ctx context.Context, current map[string]string, present []server) (Definition, error) {
	def, err := w.define(ctx, w.op, current)
	if err == nil {
		err = w.fillHostKeys(ctx, &def, present)
	}
	return def, err
}

// define calls the user data function that the request names, with the current parameters of the stack.
func (d *Driver) define(ctx context.Context, op *vnflcm.Operation, current map[string]string) (Definition, error) {
	template, err := hot.Load(op.Package, op.Flavour.ID)
	if err != nil {
		return Definition{}, err
	}
	req := UserDataRequest{Op: op, Template: template}
	if req.Current, err = decoded(current, template); err != nil {
		return Definition{}, err
	}
	if req.Images, err = uploadedImages(ctx, op); err != nil {
		return Definition{}, err
	}
	return d.callUserData(ctx, req)
}

// callUserData calls the user data function that the request names.
func (d *Driver) callUserData(ctx context.Context, req UserDataRequest) (Definition, error) {
	userData, err := d.userData(req.Op)
	if err != nil {
		return Definition{}, err
	}
	fault := checkHostKeys(req.Template, req.Op)
	def, err := userData(ctx, req)
	return def, errors.Join(fault, err)
}
