// Package openstack creates VNFs on OpenStack through Heat.
package openstack
