package vmhost

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Listen listens in the network of the host, for a service that this process simulates. Only the host, and clients that
// connect through the host, can reach the listener.
func (h *Host) Listen(ctx context.Context, network, addr string) (net.Listener, error) {
	type result struct {
		listener net.Listener
		err      error
	}
	made := make(chan result)
	go func() {
		// The network namespace belongs to the thread. The thread is not reused: it ends with the goroutine.
		runtime.LockOSThread()
		listener, err := h.listen(ctx, network, addr)
		made <- result{listener, err}
	}()
	r := <-made
	if r.err != nil {
		return nil, fmt.Errorf("vmhost: %s: %w", h.Name, r.err)
	}
	return r.listener, nil
}

func (h *Host) listen(ctx context.Context, network, addr string) (net.Listener, error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", h.init.Process.Pid))
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, os.NewSyscallError("setns", err)
	}
	return new(net.ListenConfig).Listen(ctx, network, addr)
}
