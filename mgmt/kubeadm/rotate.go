package kubeadm

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// registriesState is the state key of the private registries and mirrors that a later request has given to the running cluster. Without
// it, those of the instantiate request are in effect.
const registriesState = "registries"

// givenRegistries is the value under registriesState. It is sealed, because it has passwords.
type givenRegistries struct {
	Now        client.Connections `json:"now"`
	NowMirrors client.Mirrors     `json:"nowMirrors,omitempty"`
	// Before and BeforeMirrors are those before the operation changed them. Rolling back the operation restores them.
	Before        client.Connections `json:"before"`
	BeforeMirrors client.Mirrors     `json:"beforeMirrors,omitempty"`
	Operation     string             `json:"operation"`
}

// rotation describes how an operation changes the registries of a running cluster.
type rotation struct {
	changes bool // the request gives a list
	before  pullSources
}

// findRegistries sets the registries and mirrors that are in effect in this operation: those of a scale or heal request or, if the request has
// none, those of the cluster. Other operations do not change them. They replace those of the merged parameters.
func (p *parameters) findRegistries(ctx context.Context, op *vnflcm.Operation) (rotation, error) {
	mayChange := op.Scale != nil || op.Heal != nil
	if !mayChange && op.ChangeVnfPkg == nil && op.Maintain == nil {
		return rotation{}, nil
	}
	before, err := registriesBefore(ctx, op)
	if err != nil {
		return rotation{}, err
	}
	own, registriesGiven, mirrorsGiven := sourcesOf(op.RequestParams())
	if !mayChange || !registriesGiven || op.RollingBack {
		own.Registries = before.Registries
	}
	if !mayChange || !mirrorsGiven || op.RollingBack {
		own.Mirrors = before.Mirrors
	}
	p.Cluster.pullSources = own
	return rotation{changes: mayChange && (registriesGiven || mirrorsGiven), before: before}, nil
}

// registriesBefore returns the registries of the cluster when the operation began.
func registriesBefore(ctx context.Context, op *vnflcm.Operation) (pullSources, error) {
	var kept givenRegistries
	err := op.State().Get(ctx, registriesState, &kept)
	switch {
	case errors.Is(err, vnflcm.ErrNotFound):
		initial, _, _ := sourcesOf(op.Initial.AdditionalParams)
		return initial, nil
	case err != nil:
		return pullSources{}, err
	case kept.Operation == op.ID:
		return pullSources{kept.Before, kept.BeforeMirrors}, nil
	}
	return pullSources{kept.Now, kept.NowMirrors}, nil
}

// sourcesOf returns the lists of one request, because a list replaces another list as a whole. null is an empty list. Wrong types are reported by
// read.
func sourcesOf(request vnflcm.Params) (lists pullSources, registries, mirrors bool) {
	var names struct {
		Cluster map[string]json.RawMessage `json:"k8s_cluster_installation_param"`
	}
	var p parameters
	_, _ = request.Decode(&names)
	_, _ = request.Decode(&p)
	_, registries = names.Cluster[registriesParam]
	_, mirrors = names.Cluster[mirrorsParam]
	return p.Cluster.pullSources, registries, mirrors
}

// checkSources refuses lists in a maintenance request, which would not change the nodes.
func (p *parameters) checkSources(op *vnflcm.Operation) error {
	if op.Maintain == nil {
		return nil
	}
	c := newChecker(op)
	given := givenBy(op)
	for _, name := range []string{registriesParam, mirrorsParam} {
		if _, has := given[name]; has {
			c.Fault(name, "", "has no effect in a maintenance task: give it in a scale or heal request")
		}
	}
	return vnflcm.AtPath(clusterPath, c.Err())
}

// runKeepRegistries stores the registries of the request for later operations.
func runKeepRegistries(ctx context.Context, e *environment, _ mgmt.Node) error {
	return e.op.State().Put(ctx, registriesState, givenRegistries{Now: e.p.Registries, NowMirrors: e.p.Mirrors,
		Before: e.rotation.before.Registries, BeforeMirrors: e.rotation.before.Mirrors, Operation: e.op.ID})
}

// runChangeRegistriesOf changes the registries of one node. Machines left behind by an abandoned operation are not nodes;
// they get the registries when they are healed. While rolling back nothing is probed, and the function ignores a node that
// does not answer and a registry that refuses the old credentials. Otherwise the operation could not be rolled back.
func runChangeRegistriesOf(ctx context.Context, e *environment, n mgmt.Node) error {
	isNode, err := n.Root().Succeeds(ctx, "test", "-e", "/etc/kubernetes/kubelet.conf")
	if err == nil && !isNode {
		e.op.Log.WarnContext(ctx, "the machine is no node and is not connected to the private registries", "host", n.Label())
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
		e.op.Log.WarnContext(ctx, "the private registries of a node could not be set back", "host", n.Label(), "error", err)
		return nil
	}
	return err
}

// refused reports whether err means that a registry refuses the connection as configured.
func refused(err error) bool {
	return errors.Is(err, client.ErrLogin) || errors.Is(err, client.ErrUnknownAuthority) || errors.Is(err, client.ErrPlainHTTP)
}
