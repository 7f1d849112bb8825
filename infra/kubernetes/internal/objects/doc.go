// Package objects works on the objects of a cluster: it reads manifests, applies objects, waits for them and deletes
// them, finds pods by their owners and replaces them, and scales workloads. It labels the objects that it applies with
// their VNF instance, and deletes only objects with that label.
package objects
