// Package cloud runs a real OpenStack on this machine for the tests, from Debian packages: Keystone, Heat, Nova with a fake
// hypervisor, Neutron without agents, Placement, Glance, and Cinder with volumes that have no disks. The OpenStack listens
// only on loopback addresses and ends with the process that has started it.
//
// A server of this OpenStack has an address, but no machine has that address. Machines creates the machines: for each
// server an sshd in a network namespace, at the address that Neutron has chosen.
package cloud
