package sshexec

import "errors"

// Host is one machine. It is safe for concurrent use.
type Host struct {
	pool    *Pool
	target  Target
	machine machine
}

// Name returns how messages call the machine.
func (h *Host) Name() string { return h.target.Name }

// fail names the host in an error that does not do so yet.
func (h *Host) fail(err error) error {
	var key *HostKeyError
	if errors.As(err, &key) && key.Host == h.target.Name { // and not a jump host before it
		return err
	}
	return &HostError{Host: h.target.Name, Err: err}
}
