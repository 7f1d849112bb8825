package kubeadm

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// registriesState is where it is kept which private registries a request has given to the running cluster. As long
// as there is nothing, those of the instantiate request hold.
const registriesState = "registries"

// givenRegistries are what is kept there. It is sealed: passwords are in it.
type givenRegistries struct {
	Now client.Connections `json:"now"`
	// Before held until Operation gave others: what a rollback of it goes back to.
	Before    client.Connections `json:"before"`
	Operation string             `json:"operation"`
}

// rotation is what an operation does to the registries of a running cluster.
type rotation struct {
	changes bool // the request gives a list
	before  client.Connections
}

// findRegistries puts the registries that hold in this operation in the place of those of the merged parameters: the
// ones that a scale or heal request gives itself, or else those that the cluster has.
func (p *parameters) findRegistries(ctx context.Context, op *vnflcm.Operation) (rotation, error) {
	var request vnflcm.Params
	switch {
	case op.Scale != nil:
		request = op.Scale.AdditionalParams
	case op.Heal != nil:
		request = op.Heal.AdditionalParams
	default:
		return rotation{}, nil
	}
	before, err := registriesBefore(ctx, op)
	if err != nil {
		return rotation{}, err
	}
	own, given := registriesOf(request)
	if !given || op.RollingBack {
		own = before
	}
	p.Cluster.Registries = own
	return rotation{changes: given, before: before}, nil
}

// registriesBefore are those that the cluster had when the operation began.
func registriesBefore(ctx context.Context, op *vnflcm.Operation) (client.Connections, error) {
	var kept givenRegistries
	err := op.State().Get(ctx, registriesState, &kept)
	switch {
	case errors.Is(err, vnflcm.ErrNotFound):
		initial, _ := registriesOf(op.Initial.AdditionalParams)
		return initial, nil
	case err != nil:
		return nil, err
	case kept.Operation == op.ID:
		return kept.Before, nil
	}
	return kept.Now, nil
}

// registriesOf reads the list of a request by itself: as a whole it takes the place of another. null is an empty one.
// That something has a wrong type is left to read.
func registriesOf(request vnflcm.Params) (list client.Connections, given bool) {
	var names struct {
		Cluster map[string]json.RawMessage `json:"k8s_cluster_installation_param"`
	}
	var p parameters
	_, _ = request.Decode(&names)
	_, _ = request.Decode(&p)
	_, given = names.Cluster[registriesParam]
	return p.Cluster.Registries, given
}

// runKeepRegistries stores the registries of the request for later operations.
func runKeepRegistries(ctx context.Context, e *environment, _ mgmt.Node) error {
	return e.op.State().Put(ctx, registriesState, givenRegistries{Now: e.p.Registries, Before: e.rotation.before, Operation: e.op.ID})
}

// runChangeRegistriesOf changes one node. Machines left behind by an abandoned operation are not nodes: their heal brings
// the list to them. On the way back nothing is probed, and a node that does not answer, or a registry that no longer
// takes what it took before, is passed over: the operation could not be undone otherwise.
func runChangeRegistriesOf(ctx context.Context, e *environment, n mgmt.Node) error {
	isNode, err := linux.On(n.SSH).Succeeds(ctx, "test", "-e", "/etc/kubernetes/kubelet.conf")
	if err == nil && !isNode {
		e.op.Log.WarnContext(ctx, "the machine is no node and is not connected to the private registries", "host", n.HostName)
		return nil
	}
	var runtime client.Runtime
	if err == nil {
		runtime, err = connectRuntime(ctx, e, n)
	}
	switch {
	case !e.op.RollingBack && err == nil:
		return client.Probe(ctx, n.SSH, runtime, e.p.Registries)
	case e.op.RollingBack && (clusternodes.Unreachable(ctx, err) || refused(err)):
		e.op.Log.WarnContext(ctx, "the private registries of a node could not be set back", "host", n.HostName, "error", err)
		return nil
	}
	return err
}

// refused reports that a registry does not take the connection as it is.
func refused(err error) bool {
	return errors.Is(err, client.ErrLogin) || errors.Is(err, client.ErrUnknownAuthority) || errors.Is(err, client.ErrPlainHTTP)
}
