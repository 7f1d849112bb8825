// Package inprocess holds the code that the clients that link Helm's Go packages share, for any version of Helm: the
// life of a call, connections, waits, sources of charts, values, and classes of errors. Packages helmsdk and helm4sdk
// pass their version of Helm as a Version. This package does not link Helm, so that a program links only one version.
package inprocess
