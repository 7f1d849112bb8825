package tosca

import (
	"slices"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Option changes how Open and OpenFS read a package.
type Option func(*settings)

type settings struct {
	archive       csar.Options
	strict        bool
	allowed       []Quirk
	anyDescriptor bool
	descriptor    Descriptor // "": a VNFD, or anything with anyDescriptor
}

// WithLimits replaces the default limits; fields left zero keep their default.
func WithLimits(l csar.Limits) Option {
	return func(s *settings) { s.archive.Limits = l }
}

// WithIntegrity sets how faults of digests and signatures are treated, and whose signatures are trusted.
func WithIntegrity(i csar.Integrity) Option {
	return func(s *settings) { s.archive.Integrity = i }
}

// Quirk names a way in which packages deviate from TOSCA or SOL001 and can be
// understood nevertheless; the constants are in package problem.
type Quirk = problem.Quirk

// Strict makes every deviation an error, but those that Allow names. Without it
// all quirks are allowed.
func Strict() Option { return func(s *settings) { s.strict = true } }

// Allow makes these deviations warnings although Strict is set.
func Allow(quirks ...Quirk) Option {
	return func(s *settings) { s.allowed = append(s.allowed, quirks...) }
}

// AnyDescriptor also opens packages whose descriptor is not a VNFD but that of a network service or of a PNF. Such a
// descriptor is validated too. Package.VNFD is nil.
func AnyDescriptor() Option { return func(s *settings) { s.anyDescriptor = true } }

// Descriptor is what a package describes.
type Descriptor string

// The descriptors of SOL001 beside the VNFD.
const (
	NSD  Descriptor = "nsd"  // of a network service
	PNFD Descriptor = "pnfd" // of a physical network function
)

// descriptorTypes are the types whose nodes make a descriptor one of its kind.
var descriptorTypes = map[Descriptor]string{NSD: typeNS, PNFD: typePNF}

// Describing opens packages with this descriptor instead of a VNFD. Another one is a fault with the code problem.OtherDescriptor.
// Package.VNFD is nil.
func Describing(d Descriptor) Option {
	return func(s *settings) { s.descriptor, s.anyDescriptor = d, true }
}

// quirks are the deviations that are only warnings.
func (s settings) quirks() []Quirk {
	if s.strict {
		return s.allowed
	}
	return slices.Clone(problem.Quirks)
}

func settingsFrom(opts []Option) settings {
	var s settings
	for _, o := range opts {
		o(&s)
	}
	return s
}
