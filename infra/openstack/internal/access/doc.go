// Package access logs in to an OpenStack with the attributes of a vimConnectionInfo and returns authenticated clients of
// Heat, Nova, Neutron and Glance. It logs in once per identity and caches the clients.
package access
