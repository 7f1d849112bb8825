package vnflcm

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Bounds of what clients can store with an instance. Larger values of before these bounds stay readable, and can shrink.
const (
	maxNameLength  = 255       // characters of vnfInstanceName
	maxDescription = 4 << 10   // bytes of vnfInstanceDescription
	maxAttributes  = 256 << 10 // bytes of metadata, extensions, vnfConfigurableProperties and vnfcConfigurableProperties together, as JSON
)

// extent is how large the attributes of an instance are that clients choose.
type extent struct{ name, description, attributes int }

// extentOf measures an instance with the names and attributes given.
func extentOf(name, description string, attributes ...Params) extent {
	e := extent{name: utf8.RuneCountInString(name), description: len(description)}
	for _, p := range attributes {
		e.attributes += len(p.Reveal())
	}
	return e
}

func (i *VnfInstance) extent() (extent, error) {
	metadata, err := NewParams(nonNil(i.Metadata))
	return extentOf(i.VnfInstanceName, i.VnfInstanceDescription, metadata, i.Extensions, i.VnfConfigurableProperties), err
}

// check returns a fault for each bound that a change exceeds, unless the value was at least as large before.
func (e extent) check(before extent) error {
	fault := func(path, what string, now, before, most int) error {
		if now <= most || now <= before {
			return nil
		}
		return &ParamError{Path: path, Reason: fmt.Sprintf("has %d %s, at most %d are allowed", now, what, most)}
	}
	return errors.Join(
		fault("vnfInstanceName", "characters", e.name, before.name, maxNameLength),
		fault("vnfInstanceDescription", "bytes", e.description, before.description, maxDescription),
		fault("metadata", "bytes with extensions, vnfConfigurableProperties and vnfcConfigurableProperties", e.attributes, before.attributes, maxAttributes))
}

// extentAfter measures the instance after a modification.
func (i *VnfInstance) extentAfter(req VnfInfoModificationRequest) (extent, error) {
	after := *i
	if req.VnfInstanceName != nil {
		after.VnfInstanceName = *req.VnfInstanceName
	}
	if req.VnfInstanceDescription != nil {
		after.VnfInstanceDescription = *req.VnfInstanceDescription
	}
	metadata, err := NewParams(nonNil(i.Metadata)) // a copy: a merge patch changes maps within
	patch, errPatch := NewParams(nonNil(req.Metadata))
	merged, errMerge := metadata.Merge(patch)
	extensions, errExtensions := i.Extensions.Merge(req.Extensions)
	properties, errProperties := i.VnfConfigurableProperties.Merge(req.VnfConfigurableProperties)
	return extentOf(after.VnfInstanceName, after.VnfInstanceDescription, merged, extensions, properties),
		errors.Join(err, errPatch, errMerge, errExtensions, errProperties)
}
