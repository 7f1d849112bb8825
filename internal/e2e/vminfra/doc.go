// Package vminfra is an infrastructure driver for hosts of package vmhost. The Driver only uses the interface Cloud. The
// Cloud can be in another process (Serve, Dial), so that the machines survive when the process with the Driver is killed.
package vminfra
