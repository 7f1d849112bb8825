package sshexec

import "errors"

// Host is one machine. It is safe for concurrent use.
type Host struct {
	pool    *Pool
	target  Target
	machine machine
}

// Name returns the name of the machine in messages.
func (h *Host) Name() string { return h.target.Name }

// fail adds the name of the host to an error that does not have it.
func (h *Host) fail(err error) error {
	var key *HostKeyError
	if errors.As(err, &key) && key.Host == h.target.Name { // the error is about this host, not about a jump host
		return err
	}
	return &HostError{Host: h.target.Name, Err: err}
}
