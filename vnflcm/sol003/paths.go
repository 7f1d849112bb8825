package sol003

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/tosca/problem"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
)

// documentNames has the names of the attributes of all documents that can be filtered. The value is true if any names may be below the
// attribute: those of free-form attributes, and the keys of maps.
var documentNames = namesOf(reflect.TypeFor[vnflcm.VnfInstance](), reflect.TypeFor[vnflcm.VnfLcmOpOcc](), reflect.TypeFor[onboarding.VnfPkgInfo](), reflect.TypeFor[vnflcm.VnfSnapshotInfo](),
	reflect.TypeFor[Subscription](), reflect.TypeFor[PackageFilter]())

// notShown are attributes of SOL003 (up to v3.3.1) that documents of this VNFM never have. A filter may name them.
var notShown = []string{"addedStorageResourceIds", "affectedExtLinkPorts", "affectedVnfcCpIds", "associatedVnfVirtualLinkId", "cpInstanceType", "extCpInstanceId",
	"extLinkPortId", "extManagedMultisiteVirtualLinkId", "isDynamic", "maxScaleLevels", "monitoringParameters", "parentCpConfigId", "performanceMetric",
	"removedStorageResourceIds", "reservationId", "segmentationId", "vnfLinkPortId", "vnfLinkPortIds", "vnfLinkPorts"}

func namesOf(documents ...reflect.Type) map[string]bool {
	names := map[string]bool{}
	for _, t := range documents {
		addNames(names, t)
	}
	for _, name := range mapped {
		names[name] = true
	}
	for _, name := range notShown {
		names[name] = true
	}
	return names
}

func addNames(names map[string]bool, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names[name] = names[name] || f.Type.Kind() == reflect.Map || f.Type == reflect.TypeFor[vnflcm.Params]()
			addNames(names, f.Type)
		}
	}
}

// checkPath refuses a path of a filter with a name that no document has: with neq, nin or ncont it would select every document.
func (a attributes) checkPath(path []string) error {
	if !slices.Contains(a.all, path[0]) {
		return noAttribute(path[0], a.all)
	}
	for i, name := range path[1:] {
		if documentNames[path[i]] {
			return nil
		}
		if _, known := documentNames[name]; !known {
			return noAttribute(strings.Join(path[:i+2], "/"), slices.Sorted(maps.Keys(documentNames)))
		}
	}
	return nil
}

// noAttribute is the error for a path whose last name is not among the known ones.
func noAttribute(path string, known []string) error {
	return badRequest(fmt.Sprintf("filter: there is no attribute %q%s", beginning(path), didYouMean(path[strings.LastIndex(path, "/")+1:], known)))
}

// didYouMean returns the end of a sentence about a misspelt name, "" if no known name is similar.
func didYouMean(name string, known []string) string {
	if meant := problem.Nearest(name, known); meant != "" {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return ""
}
