package tosca

import "github.com/vnfkit/vnfkit/tosca/csar"

// Option changes how Open and OpenFS read a package.
type Option func(*settings)

type settings struct {
	archive csar.Options
}

// WithLimits replaces the default limits; fields left zero keep their default.
func WithLimits(l csar.Limits) Option {
	return func(s *settings) { s.archive.Limits = l }
}

func settingsFrom(opts []Option) settings {
	var s settings
	for _, o := range opts {
		o(&s)
	}
	return s
}
