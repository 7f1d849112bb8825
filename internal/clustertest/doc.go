// Package clustertest adds to a mgmttest.Lab what tests of clusters need: checks of the nodes, the entry in the VIM registry, the
// API of the cluster, storage servers, and requests of a given size.
package clustertest
