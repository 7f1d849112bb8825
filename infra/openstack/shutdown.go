package openstack

import (
	"context"
	"errors"
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

// Operate implements vnflcm.Operator. Nova shuts the guest of a server down, and cuts its power after shutdown_timeout, whatever the StopType
// is. A server that does not exist is an error of a start only.
func (d *Driver) Operate(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	step, turn := "start-server", w.startServer
	if op.Operate.ChangeStateTo == vnflcm.VnfStopped {
		step, turn = "stop-server", w.shutDownServer
	}
	return vnflcm.Each(ctx, parallel, vnfcs, func(ctx context.Context, v vnflcm.VNFC) error {
		return vnflcm.Do(ctx, op, step, v.ID, func(ctx context.Context) error { return turn(ctx, v) })
	})
}

// startServer returns when Nova reports the server as ACTIVE.
func (w *work) startServer(ctx context.Context, v vnflcm.VNFC) error {
	return w.turn(ctx, v, power{"start", "on", func() error { return servers.Start(ctx, w.clients.Nova, v.ResourceID).ExtractErr() },
		func(s *servers.Server) bool { return s.Status == "ACTIVE" }})
}

func (w *work) shutDownServer(ctx context.Context, v vnflcm.VNFC) error {
	err := w.turn(ctx, v, power{"shut down", "off", func() error { return servers.Stop(ctx, w.clients.Nova, v.ResourceID).ExtractErr() },
		func(s *servers.Server) bool { return s.Status != "ACTIVE" }})
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// power is a change of the power of a server.
type power struct {
	verb, state string
	ask         func() error
	isReached   func(*servers.Server) bool
}

// turn asks Nova to turn a server on or off, and returns when the server is in the state. Nova refuses (409) for a server in the state, and
// while another task changes the server: an earlier process may have asked for the opposite. turn asks again after such a task.
func (w *work) turn(ctx context.Context, v vnflcm.VNFC, p power) error {
	ask := func() error {
		if err := p.ask(); err != nil && !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
			return fmt.Errorf("%s server %s of %s: %w", p.verb, v.ResourceID, v, w.clients.Explain(err))
		}
		return nil
	}
	if err := ask(); err != nil {
		return err
	}
	return w.await(ctx, v, p, ask)
}

// errServer is the failure of Nova to turn a server on or off.
var errServer = errors.New("its status is ERROR")

// await returns when no task of Nova changes the server and it is in the state. It asks again for a server in another state.
func (w *work) await(ctx context.Context, v vnflcm.VNFC, p power, ask func() error) error {
	wait := retry.Policy{First: w.cfg.Poll, Most: 10 * w.cfg.Poll, For: "server " + v.ResourceID + " of " + v.Label() + " to be " + p.state,
		If: func(err error) bool {
			return !gophercloud.ResponseCodeIs(err, http.StatusNotFound) && !errors.Is(err, errServer)
		}}
	return wait.Do(ctx, func() error {
		s, err := servers.Get(ctx, w.clients.Nova, v.ResourceID).Extract()
		switch {
		case err != nil:
			return fmt.Errorf("server %s of %s is not %s: %w", v.ResourceID, v.Label(), p.state, w.clients.Explain(err))
		case s.TaskState == "" && p.isReached(s):
			return nil
		case s.Status == "ERROR":
			return fmt.Errorf("server %s of %s is not %s: %w: %s", v.ResourceID, v.Label(), p.state, errServer, s.Fault.Message)
		case s.TaskState == "":
			err = ask()
		}
		return errors.Join(fmt.Errorf("server %s of %s is not %s, but %s", v.ResourceID, v.Label(), p.state, s.Status), err)
	})
}
