package csar

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Policy says what the digests and signatures of a package decide.
type Policy string

const (
	// Verify checks what is present, and is the default: a digest that differs or
	// a signature that does not hold refuses the package; one without any is
	// taken. Whoever can change a package can also strip its signature: where
	// that matters, use Require.
	Verify Policy = "verify"
	// Require is Verify and refuses a package that is not signed as a whole, by the
	// manifest or over the CSAR, by somebody whom Integrity.Roots vouch for. Open
	// reads and verifies the whole package, so that nothing of one that is refused
	// is ever seen. A file that changes on disk later fails when it is read.
	Require Policy = "require"
	// Warn checks the same as Verify, but what it finds are warnings.
	Warn Policy = "warn"
	// Off checks neither digests nor signatures.
	Off Policy = "off"
)

// Integrity says how a package is protected against changes.
type Integrity struct {
	// Policy is Verify when empty.
	Policy Policy
	// Roots are the certificates that trust begins with. Without them signatures
	// are checked, and their signers are reported as untrusted. Those of the
	// system are never used: they vouch for web servers.
	Roots *x509.CertPool
	// Now is the time at which certificates must be valid; time.Now when nil.
	Now func() time.Time
}

func (i Integrity) withDefaults() (Integrity, error) {
	switch i.Policy {
	case "":
		i.Policy = Verify
	case Verify, Require, Warn, Off:
	default:
		return i, fmt.Errorf("csar: integrity policy %q is none of %q, %q, %q and %q", i.Policy, Verify, Require, Warn, Off)
	}
	if i.Now == nil {
		i.Now = time.Now
	}
	return i, nil
}

// judge reports what is found wrong as the policy wants it.
type judge struct {
	integrity Integrity
	report    *report.Report
}

// fault reports what breaks the integrity of a package.
func (j judge) fault(pos problem.Position, code problem.Code, format string, args ...any) {
	j.add(j.integrity.Policy == Verify || j.integrity.Policy == Require, pos, code, format, args...)
}

// doubt reports what leaves the integrity of a package unproved.
func (j judge) doubt(pos problem.Position, code problem.Code, format string, args ...any) {
	j.add(j.integrity.Policy == Require, pos, code, format, args...)
}

func (j judge) add(refuse bool, pos problem.Position, code problem.Code, format string, args ...any) {
	if refuse {
		j.report.Errorf(pos, code, format, args...)
		return
	}
	j.report.Warnf(pos, code, format, args...)
}
