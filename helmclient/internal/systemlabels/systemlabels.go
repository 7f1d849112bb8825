// Package systemlabels lists the labels that Helm 3 and 4 set on the records of a release (pkg/storage/driver,
// systemLabels).
package systemlabels

import "slices"

var labels = []string{"name", "owner", "status", "version", "createdAt", "modifiedAt"}

// Has reports whether Helm reserves a label, so that a release cannot have it.
func Has(label string) bool { return slices.Contains(labels, label) }
