package csar

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Policy sets how faults of digests and signatures are treated.
type Policy string

const (
	// Verify checks the digests and signatures of the package. It is the default without Integrity.Roots. A different digest
	// or an invalid signature refuses the package; a package without digests and signatures is accepted. A person who can
	// change a package can also remove its signature. Use Require to detect this.
	Verify Policy = "verify"
	// Require checks what Verify checks. It also refuses a package that is not signed as a whole, by the manifest or
	// over the CSAR, by a signer that Integrity.Roots trust. Open reads and verifies the whole package, so that no
	// content of a refused package is visible. A file that changes on disk later fails when it is read.
	Require Policy = "require"
	// Warn checks what Verify checks, but faults are only warnings.
	Warn Policy = "warn"
	// Off checks neither digests nor signatures.
	Off Policy = "off"
)

// Integrity configures the protection of a package against changes.
type Integrity struct {
	// Policy is the policy. Default: Require if Roots is set, otherwise Verify.
	Policy Policy
	// Roots are the trusted root certificates. If Roots is set, a package must be signed, unless Policy is set to another
	// policy than Require. Without Roots, signatures are checked and signers are reported as untrusted. The roots of the system
	// are never used, because they are meant for web servers.
	Roots *x509.CertPool
	// Now returns the time at which certificates must be valid. Default: time.Now.
	Now func() time.Time
}

func (i Integrity) withDefaults() (Integrity, error) {
	switch i.Policy {
	case "":
		if i.Policy = Verify; i.Roots != nil {
			i.Policy = Require
		}
	case Verify, Require, Warn, Off:
	default:
		return i, fmt.Errorf("csar: integrity policy %q must be %q, %q, %q or %q", i.Policy, Verify, Require, Warn, Off)
	}
	if i.Now == nil {
		i.Now = time.Now
	}
	return i, nil
}

// judge reports faults as the policy requires.
type judge struct {
	integrity Integrity
	report    *report.Report
}

// fault reports a violation of the integrity of a package.
func (j judge) fault(pos problem.Position, code problem.Code, format string, args ...any) {
	j.add(j.integrity.Policy == Verify || j.integrity.Policy == Require, pos, code, format, args...)
}

// doubt reports a fact that leaves the integrity of a package unproved.
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
