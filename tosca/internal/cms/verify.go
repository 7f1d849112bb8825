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
	// Roots are the trusted root certificates. If it is nil no signer is trusted; the roots of the system are never
	// used.
	Roots *x509.CertPool
	// Certificates are further ones, of signers and of authorities between them
	// and the roots: in SOL004 packages they may lie beside the signature. They
	// are believed no more than those in the CMS.
	Certificates []*x509.Certificate
	// Now is the time at which certificates must be valid; zero is the current time.
	Now time.Time
}

// Signer is what Verify found out about one signer.
type Signer struct {
	// ID is how the CMS names the signer: for messages.
	ID string
	// Certificate of the signer, nil if it was not found.
	Certificate *x509.Certificate
	// Valid is set if the holder of Certificate signed this content.
	Valid bool
	// Trusted is set if, besides, a chain that is valid now leads to one of the roots.
	Trusted bool
	// Reason is why the signer is not trusted; nil if it is. It wraps one of the
	// errors of this package: ErrExpired or ErrUntrusted if the signature is valid.
	Reason error
}

// Verify checks every signature over the content whose digests are given, one for each of Digests, and returns the
// signers in the order of the CMS, at least one. If digests is nil, Verify checks the content that the CMS carries. If
// digests are given and differ from the carried content, the error is ErrDigest.
func (s *Signed) Verify(digests map[crypto.Hash][]byte, o Options) []Signer {
	t := newTrust(o, s.certificates)
	out := make([]Signer, 0, len(s.signers))
	for _, si := range s.signers {
		out = append(out, s.verify(si, digests, t))
	}
	return out
}

// verify takes the best of the certificates that fit a signer.
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
	_, _ = h.Write(data) // never fails, says hash.Hash
	return h.Sum(nil)
}
