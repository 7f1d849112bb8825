package cms

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/x509"
	"fmt"
	"time"
)

// Options are the trusted certificates and other input of the verifier.
type Options struct {
	// Roots are the trusted root certificates. If Roots is nil, no signer is trusted. The roots of the system are never used.
	Roots *x509.CertPool
	// Certificates are further certificates of signers and of intermediate authorities. SOL004 packages may have them beside
	// the signature. They are not trusted, like those in the CMS.
	Certificates []*x509.Certificate
	// Now is the time at which certificates must be valid. Default: the current time.
	Now time.Time
}

// Signer is the result of Verify for one signer.
type Signer struct {
	// ID is the identifier of the signer in the CMS, in a form for messages.
	ID string
	// Certificate is the certificate of the signer, nil if it was not found.
	Certificate *x509.Certificate
	// Valid is set if the holder of Certificate signed this content.
	Valid bool
	// Trusted is set if Valid is set and a chain that is valid at Options.Now leads to one of the roots.
	Trusted bool
	// Reason is the cause why the signer is not trusted, nil if Trusted is set. It wraps one of the errors of this package:
	// ErrExpired or ErrUntrusted if Valid is set.
	Reason error
}

// Verify checks each signature over the content with the given digests, which must contain one digest for each algorithm of
// Digests. It returns the signers in the order of the CMS, at least one. If digests is nil, Verify checks the content that the
// CMS carries. Digests that differ from those of the carried content lead to ErrDigest.
func (s *Signed) Verify(digests map[crypto.Hash][]byte, o Options) []Signer {
	t := newTrust(o, s.certificates)
	out := make([]Signer, 0, len(s.signers))
	for _, si := range s.signers {
		out = append(out, s.verify(si, digests, t))
	}
	return out
}

// verify checks a signature with each candidate certificate and returns the best result.
func (s *Signed) verify(si signerInfo, digests map[crypto.Hash][]byte, t *trust) Signer {
	check, err := s.prepare(si, digests)
	best := Signer{ID: si.id.String(), Reason: err}
	for _, c := range t.candidates(si.id) {
		found := Signer{ID: best.ID, Certificate: c, Reason: err}
		if err == nil {
			found.judge(check, t)
		}
		if best.Certificate == nil || rank(found) > rank(best) {
			best = found
		}
	}
	if best.Certificate == nil {
		best.Reason = cmp.Or(best.Reason, s.noCertificate())
	}
	return best
}

func (g *Signer) judge(check func(crypto.PublicKey) error, t *trust) {
	if g.Reason = check(g.Certificate.PublicKey); g.Reason != nil {
		return
	}
	g.Valid = true
	g.Reason = t.verify(g.Certificate)
	g.Trusted = g.Reason == nil
}

func rank(g Signer) int {
	switch {
	case g.Trusted:
		return 2
	case g.Valid:
		return 1
	}
	return 0
}

func (s *Signed) noCertificate() error {
	if s.unread != nil {
		return fmt.Errorf("%w; one in the CMS cannot be read: %w", ErrNoCertificate, s.unread)
	}
	return ErrNoCertificate
}

// prepare makes all checks that need no certificate, and returns a function that checks the signature against a key.
func (s *Signed) prepare(si signerInfo, digests map[crypto.Hash][]byte) (func(crypto.PublicKey) error, error) {
	hash, err := si.digest.hash()
	if err != nil {
		return nil, err
	}
	m, err := methodOf(si.signatureAlgorithm, hash)
	if err != nil {
		return nil, err
	}
	digest, err := s.digest(hash, digests)
	if err != nil {
		return nil, err
	}
	messages, err := s.messages(si, hash, digest)
	if err != nil {
		return nil, err
	}
	return func(key crypto.PublicKey) (err error) {
		for _, over := range messages {
			if err = m.verify(key, over, si.signature); err == nil {
				return nil
			}
		}
		return err
	}, nil
}

// digest returns the digest of the content to be verified.
func (s *Signed) digest(hash crypto.Hash, digests map[crypto.Hash][]byte) ([]byte, error) {
	given, ok := digests[hash]
	if digests != nil && !ok {
		return nil, fmt.Errorf("%w: its %s digest was not computed", ErrDigest, hash)
	}
	if s.detached {
		if !ok {
			return nil, fmt.Errorf("%w: the CMS does not carry it", ErrDigest)
		}
		return given, nil
	}
	carried := sum(hash, s.content)
	if ok && !bytes.Equal(given, carried) {
		return nil, fmt.Errorf("%w: the CMS carries other content", ErrDigest)
	}
	return carried, nil
}

// messages returns the data that the signature may cover: the signed attributes or, without them, the content (RFC 5652
// 5.4).
func (s *Signed) messages(si signerInfo, hash crypto.Hash, digest []byte) ([]message, error) {
	if si.attributes == nil {
		if !s.contentType.Equal(oidData) {
			return nil, malformed("content of type %s is signed without attributes", s.contentType)
		}
		return []message{{whole: s.content, digest: digest}}, nil
	}
	a, err := readAttributes(si.attributes)
	if err != nil {
		return nil, err
	}
	if !a.contentType.Equal(s.contentType) {
		return nil, malformed("the signed content type is %s, that of the content %s", a.contentType, s.contentType)
	}
	if !bytes.Equal(a.messageDigest, digest) {
		return nil, fmt.Errorf("%w: its %s digest is %x, signed is %.64x", ErrDigest, hash, digest, a.messageDigest)
	}
	var out []message
	for _, e := range a.encodings {
		out = append(out, message{whole: e, digest: sum(hash, e)})
	}
	return out, nil
}

func sum(hash crypto.Hash, data []byte) []byte {
	h := hash.New()
	_, _ = h.Write(data) // hash.Hash documents that Write never fails
	return h.Sum(nil)
}
