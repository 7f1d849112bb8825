package openstack

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// CheckVIM implements vnflcm.VIMChecker. It logs in at Keystone and finds Heat, Nova and Neutron in the catalog for the region. It keeps nothing,
// so that clients cannot evict the clients of operations.
func (d *Driver) CheckVIM(ctx context.Context, vim vnflcm.VimConnectionInfo) error {
	if err := access.Validate(vim); err != nil {
		return err
	}
	once := access.New(access.Config{Allow: d.cfg.Allow, Transport: d.cfg.Transport, UserAgent: "vnfkit", Identities: 1})
	defer once.Close()
	_, err := once.Clients(ctx, vim)
	path := "vimConnectionInfo.interfaceInfo.endpoint"
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrAuth):
		path = "vimConnectionInfo.accessInfo"
	case errors.Is(err, ErrEndpoint):
		path = "vimConnectionInfo.accessInfo.region"
	}
	return &vnflcm.ParamError{Path: path, Reason: err.Error()}
}

var _ vnflcm.VIMChecker = (*Driver)(nil)
