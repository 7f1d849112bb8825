package kubeadm

import (
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// withLogins returns the machines that list finds. A machine that runs by the other package of a VNF, whose package changes or which is mixed, has
// the login that was given for that package: images differ in their users.
func (p *parameters) withLogins(op *vnflcm.Operation, list func(*clusterParam) ([]mgmt.Node, error)) ([]mgmt.Node, error) {
	nodes, err := list(&p.Cluster)
	if err != nil {
		return nodes, err
	}
	var errs []error
	for i, n := range nodes {
		version := op.VersionOf(n.VNFC)
		if version.Package == op.Package {
			continue
		}
		same, err := list(p.loginsOf(version))
		errs = append(errs, err)
		if at := slices.IndexFunc(same, func(m mgmt.Node) bool { return m.ID == n.ID }); at >= 0 {
			nodes[i] = same[at]
		}
	}
	return nodes, errors.Join(errs...)
}

// loginsOf returns the parameters of the cluster with the logins for machines of a package.
func (p *parameters) loginsOf(version vnflcm.PackageVersion) *clusterParam {
	var given parameters
	_, _ = version.Initial.AdditionalParams.Decode(&given) // the request was checked
	c := &given.Cluster
	c.Master.Login, c.Worker.Login = p.override(c)
	return c
}

// override returns the logins of nodes with the changes of a scale or heal request.
func (p *parameters) override(c *clusterParam) (controlPlane, workers mgmt.Login) {
	return changed(c.Master.Login, mgmt.Login{Username: p.MasterUsername, Password: p.MasterPassword, PrivateKey: p.MasterKey, Passphrase: p.MasterPassphrase}),
		changed(c.Worker.Login, mgmt.Login{Username: p.WorkerUsername, Password: p.WorkerPassword, PrivateKey: p.WorkerKey, Passphrase: p.WorkerPassphrase})
}

// nodesOf returns the control-plane nodes and the workers.
func (d *Driver) nodesOf(op *vnflcm.Operation, p *parameters) (controlPlane, workers []mgmt.Node, err error) {
	controlPlane, err1 := p.withLogins(op, func(c *clusterParam) ([]mgmt.Node, error) {
		return d.access(c.Master.nodeParam).Nodes(op, d.config.Pool, "master")
	})
	workers, err2 := p.withLogins(op, func(c *clusterParam) ([]mgmt.Node, error) {
		return d.access(c.Worker).Nodes(op, d.config.Pool, "worker")
	})
	return controlPlane, workers, errors.Join(err1, err2)
}

// balancersOf returns the load balancers.
func (d *Driver) balancersOf(op *vnflcm.Operation, p *parameters) ([]mgmt.Node, error) {
	return p.withLogins(op, func(c *clusterParam) ([]mgmt.Node, error) {
		return c.Balancer.Balancers(op, d.config.Pool, mgmt.Access{LoginGrace: d.config.Timeouts.Login})
	})
}

// storageOf returns the storage server, nil without one.
func (d *Driver) storageOf(op *vnflcm.Operation, p *parameters) ([]mgmt.Node, error) {
	return p.withLogins(op, func(c *clusterParam) ([]mgmt.Node, error) {
		if c.Storage == nil {
			return nil, nil
		}
		return d.access(c.Storage.node()).Nodes(op, d.config.Pool, storageRole)
	})
}
