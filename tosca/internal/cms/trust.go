package cms

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// trust finds chains from the certificates of signers to the roots.
type trust struct {
	roots, intermediates *x509.CertPool
	now                  time.Time
	// certificates are all known certificates of possible signers.
	certificates []*x509.Certificate
	// verdicts are cached results: several signers may name one certificate.
	verdicts map[*x509.Certificate]error
}

func newTrust(o Options, carried []*x509.Certificate) *trust {
	t := &trust{
		roots: o.Roots, intermediates: x509.NewCertPool(), now: o.Now,
		certificates: slices.Concat(carried, o.Certificates),
		verdicts:     map[*x509.Certificate]error{},
	}
	for _, c := range t.certificates {
		if acceptKey(c.PublicKey) == nil {
			t.intermediates.AddCert(c)
		}
	}
	return t
}

// maxCandidates limits the certificates that are tried for a signer. A signer may have several candidates, because a renewed
// certificate has the key identifier of its predecessor.
const maxCandidates = 4

// candidates returns the certificates that the identifier of a signer matches.
func (t *trust) candidates(id identifier) []*x509.Certificate {
	var out []*x509.Certificate
	for _, c := range t.certificates {
		if id.matches(c) && len(out) < maxCandidates && !slices.ContainsFunc(out, c.Equal) {
			out = append(out, c)
		}
	}
	return out
}

// verify returns nil if a signer's certificate is trusted. Otherwise it returns an error that wraps ErrUntrusted or ErrExpired.
func (t *trust) verify(c *x509.Certificate) error {
	verdict, given := t.verdicts[c]
	if !given {
		verdict = t.judge(c)
		t.verdicts[c] = verdict
	}
	return verdict
}

// forSigning are key usages; a certificate needs one of them to sign content (RFC 5280 4.2.1.3).
const forSigning = x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment

func (t *trust) judge(c *x509.Certificate) error {
	if t.roots == nil {
		return fmt.Errorf("%w: no root certificates are given", ErrUntrusted)
	}
	if c.KeyUsage != 0 && c.KeyUsage&forSigning == 0 {
		return fmt.Errorf("%w: the key usage of its certificate does not include signatures", ErrUntrusted)
	}
	err := t.chain(c, t.now)
	switch {
	case err == nil:
		return nil
	case expired(err) && t.wasTrusted(c):
		return fmt.Errorf("%w: %w", ErrExpired, err)
	}
	return fmt.Errorf("%w: %w", ErrUntrusted, err)
}

// wasTrusted distinguishes a certificate that is only expired, or not valid yet, from a certificate without a trusted root. The
// error of x509 does not, because x509 checks the time first.
func (t *trust) wasTrusted(c *x509.Certificate) bool {
	return t.chain(c, c.NotBefore) == nil || t.chain(c, c.NotAfter) == nil
}

func (t *trust) chain(c *x509.Certificate, at time.Time) error {
	_, err := c.Verify(x509.VerifyOptions{
		Roots: t.roots, Intermediates: t.intermediates, CurrentTime: at,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	return err
}

func expired(err error) bool {
	var invalid x509.CertificateInvalidError
	return errors.As(err, &invalid) && invalid.Reason == x509.Expired
}
