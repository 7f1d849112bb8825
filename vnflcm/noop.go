package vnflcm

import "context"

// NoopDriver is a MgmtDriver that has every hook and does nothing, for packages whose VNFD names a driver without any
// work to do. Register it under the name in the VNFD: Tacker's packages have "vnflcm_noop".
type NoopDriver struct{}

var _ MgmtDriver = NoopDriver{}

// Validate implements MgmtDriver. It accepts every request.
func (NoopDriver) Validate(context.Context, *Operation) error { return nil }

// Hooks implements MgmtDriver.
func (NoopDriver) Hooks() Hooks {
	out := Hooks{}
	for _, h := range hooks {
		out[h] = Noop
	}
	return out
}

// Noop is the function of a hook that does nothing. A driver uses it for a hook that VNFDs may name and that needs no
// work.
func Noop(context.Context, *Operation) error { return nil }
