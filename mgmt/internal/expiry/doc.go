// Package expiry reads when the certificates of a cluster end: from files of its machines, over SSH, and from the TLS handshakes of its
// servers, without a login.
package expiry
