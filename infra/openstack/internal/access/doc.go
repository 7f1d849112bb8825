// Package access turns a vimConnectionInfo into authenticated clients of OpenStack's services, made once for
// each identity.
package access
