package kubernetes

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// CheckVIM implements vnflcm.VIMChecker. It asks the API for its versions, which only known users may read.
func (d *Driver) CheckVIM(ctx context.Context, vim vnflcm.VimConnectionInfo) error {
	options := kubeaccess.Options{SSH: d.cfg.SSH, Dial: d.cfg.Dial, Allow: d.cfg.Allow, Cluster: d.cfg.Cluster}
	if err := kubeaccess.Check(ctx, vim, options); err != nil {
		return err
	}
	cluster, err := kubeaccess.Open(ctx, vim, options)
	if err == nil {
		cluster.Close()
		return nil
	}
	path := "vimConnectionInfo.interfaceInfo.endpoint"
	switch {
	case errors.Is(err, ErrAuth):
		path = "vimConnectionInfo.accessInfo"
	case errors.Is(err, ErrTLS):
		path = "vimConnectionInfo.interfaceInfo.ssl_ca_cert"
	}
	return &vnflcm.ParamError{Path: path, Reason: err.Error()}
}

var _ vnflcm.VIMChecker = (*Driver)(nil)
