package vminfra

import (
	"context"
	"net"
	"net/rpc"
)

// Serve serves the cloud to other processes, one at a time. It returns after the listener was closed and the last
// connection has ended.
func Serve(l net.Listener, c Cloud) error {
	server := rpc.NewServer()
	if err := server.RegisterName("Cloud", &service{c}); err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil //nolint:nilerr // closed
		}
		server.ServeConn(conn) // one process at a time
	}
}

// service has the methods of Cloud with the signatures that net/rpc requires.
type service struct{ cloud Cloud }

// Create creates a machine.
func (s *service) Create(m Machine, _ *struct{}) error {
	return s.cloud.Create(context.Background(), m)
}

// Delete deletes a machine.
func (s *service) Delete(id string, _ *struct{}) error {
	return s.cloud.Delete(context.Background(), id)
}

// Machines lists the machines of an instance.
func (s *service) Machines(instance string, out *[]Machine) (err error) {
	*out, err = s.cloud.Machines(context.Background(), instance)
	return err
}

// Dial connects to a cloud that another process serves at a UNIX socket. The caller closes the Remote.
func Dial(socket string) (*Remote, error) {
	client, err := rpc.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	return &Remote{client}, nil
}

// Remote is the cloud of another process.
type Remote struct{ client *rpc.Client }

// Close ends the connection.
func (r *Remote) Close() error { return r.client.Close() }

// Create implements Cloud.
func (r *Remote) Create(ctx context.Context, m Machine) error { return r.call(ctx, "Create", m, nil) }

// Delete implements Cloud.
func (r *Remote) Delete(ctx context.Context, id string) error { return r.call(ctx, "Delete", id, nil) }

// Machines implements Cloud.
func (r *Remote) Machines(ctx context.Context, instance string) (out []Machine, err error) {
	return out, r.call(ctx, "Machines", instance, &out)
}

func (r *Remote) call(ctx context.Context, method string, args, out any) error {
	if out == nil {
		out = new(struct{})
	}
	call := r.client.Go("Cloud."+method, args, out, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		return call.Error
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
