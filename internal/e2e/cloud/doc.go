// Package cloud runs a real OpenStack on this machine for the tests: Keystone, Heat, Nova with the driver that
// boots nothing, Neutron without agents, Placement, Glance, and Cinder whose volumes have no disks, from Debian packages. It listens on loopback
// only, and ends with the process that started it.
//
// Servers of it have addresses and no machine behind them. Machines puts real hosts there: an sshd in a network
// namespace for each server, at the address that Neutron gave it.
package cloud
