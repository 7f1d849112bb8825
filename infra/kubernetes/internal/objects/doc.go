// Package objects works on the objects of a cluster: manifests are read and applied, waited for and deleted, pods are
// found by their owners and replaced, workloads scaled. What it applies carries the label of its VNF instance, and only
// what carries that label is deleted.
package objects
