package openstack

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// defaultGrace is how long a graceful termination waits for servers to shut down if the request gives no time: twice the
// default time after which Nova cuts the power of a guest (shutdown_timeout).
const defaultGrace = 2 * time.Minute

// shutDown asks Nova to shut the servers of the VNF down and waits until they are off. If Nova cannot shut down a server,
// shutDown logs a warning, and the VNF is terminated anyway.
func (w *work) shutDown(ctx context.Context) error {
	grace := defaultGrace
	if seconds := w.op.Terminate.GracefulTerminationTimeout; seconds > 0 {
		grace = time.Duration(seconds) * time.Second
	}
	limited, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := vnflcm.Each(limited, parallel, w.op.VNFCs, func(ctx context.Context, v vnflcm.VNFC) error {
		return w.shutDownServer(ctx, v)
	})
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		w.op.Log.WarnContext(ctx, "not all servers were shut down in order", "reason", err)
	}
	return nil
}

// StopMachine implements vnflcm.MachineStopper. Nova shuts the guest down, and cuts its power after shutdown_timeout, by
// default one minute. StopMachine waits until the server is not ACTIVE any more. If the compute host does not answer, Nova
// continues to report ACTIVE, and StopMachine waits until ctx ends.
func (d *Driver) StopMachine(ctx context.Context, op *vnflcm.Operation, v vnflcm.VNFC) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	return w.shutDownServer(ctx, v)
}

func (w *work) shutDownServer(ctx context.Context, v vnflcm.VNFC) error {
	err := servers.Stop(ctx, w.clients.Nova, v.ResourceID).ExtractErr()
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	if err != nil && !gophercloud.ResponseCodeIs(err, http.StatusConflict) { // 409: it is off, or never ran
		return fmt.Errorf("shut down server %s of %s: %w", v.ResourceID, v, w.clients.Explain(err))
	}
	return retry.Policy{First: w.cfg.Poll, Most: 10 * w.cfg.Poll, For: "the end of server " + v.ResourceID + " of " + v.Label()}.Do(ctx, func() error {
		s, err := servers.Get(ctx, w.clients.Nova, v.ResourceID).Extract()
		switch {
		case gophercloud.ResponseCodeIs(err, http.StatusNotFound), err == nil && s.Status != "ACTIVE":
			return nil
		case err != nil:
			return fmt.Errorf("server %s of %s is not off: %w", v.ResourceID, v.Label(), w.clients.Explain(err))
		}
		return fmt.Errorf("server %s of %s is not off", v.ResourceID, v.Label())
	})
}
