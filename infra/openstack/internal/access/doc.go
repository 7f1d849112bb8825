// Package access reaches an OpenStack: from a vimConnectionInfo to authenticated clients of Heat, Nova and
// Neutron, made once per identity.
package access
