package tosca

import (
	"slices"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Option changes how Open and OpenFS read a package.
type Option func(*settings)

type settings struct {
	archive       csar.Options
	strict        bool
	allowed       []Quirk
	anyDescriptor bool
	descriptor    Descriptor // "": a VNFD or, with anyDescriptor, any descriptor
	// acceptedEarlier makes the faults of a VNFD warnings: an earlier version of this program may not have found them.
	acceptedEarlier bool
	typeFiles       *yamltree.Cache // of a Cache; nil for none
}

// WithLimits sets limits. Fields that are zero keep their default.
func WithLimits(l csar.Limits) Option {
	return func(s *settings) { s.archive.Limits = l }
}

// WithIntegrity sets the policy for faults of digests and signatures, and the trusted certificates.
func WithIntegrity(i csar.Integrity) Option {
	return func(s *settings) { s.archive.Integrity = i }
}

// Quirk names a deviation from TOSCA or SOL001 that occurs in real packages and that this package can interpret. Package problem
// has the constants.
type Quirk = problem.Quirk

// Strict makes every deviation an error, except those that Allow names. Without Strict all deviations are warnings. Strict also warns of a
// package without manifest (csar.Options.Strict).
func Strict() Option { return func(s *settings) { s.strict, s.archive.Strict = true, true } }

// Allow makes these deviations warnings even if Strict is set.
func Allow(quirks ...Quirk) Option {
	return func(s *settings) { s.allowed = append(s.allowed, quirks...) }
}

// AnyDescriptor also opens packages with the descriptor of a network service or of a PNF instead of a VNFD. These descriptors are
// validated too. Package.VNFD returns nil for them. A package with none of these descriptors has a warning that names the reason.
func AnyDescriptor() Option { return func(s *settings) { s.anyDescriptor = true } }

// Descriptor is a kind of descriptor.
type Descriptor string

// The descriptors of SOL001 beside the VNFD.
const (
	NSD  Descriptor = "nsd"  // descriptor of a network service
	PNFD Descriptor = "pnfd" // descriptor of a physical network function
)

// descriptorTypes maps each kind of descriptor to the node type that identifies it.
var descriptorTypes = map[Descriptor]string{NSD: typeNS, PNFD: typePNF}

// Describing opens packages with this kind of descriptor instead of a VNFD. Any other descriptor is a fault with the code
// problem.OtherDescriptor. Package.VNFD returns nil.
func Describing(d Descriptor) Option {
	return func(s *settings) { s.descriptor, s.anyDescriptor = d, true }
}

// quirks returns the deviations that are warnings.
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
