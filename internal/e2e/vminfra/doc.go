// Package vminfra is an infrastructure driver for hosts that package vmhost makes. The Driver knows only a
// Cloud, which keeps the machines and can be in another process (Serve, Dial): a process that is killed in the
// middle of an operation finds them again.
package vminfra
