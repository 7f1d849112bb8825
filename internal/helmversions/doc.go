// Package helmversions has tests of Helm 4 in the process on a simulated cluster, alone and beside Helm 3. They are not
// in package helm4sdk, because helmclient must not import the simulated cluster.
package helmversions
