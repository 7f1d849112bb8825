package cms

import (
	"crypto"
	"crypto/x509"
	encoding "encoding/asn1"
	"fmt"
	"slices"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// Signed is SignedData (RFC 5652 5.1): the signers and, unless it is detached, the content.
type Signed struct {
	contentType  encoding.ObjectIdentifier
	content      []byte
	detached     bool
	certificates []*x509.Certificate
	// unread is the reason why a certificate could not be read. It is a fault only if a signer needs the certificate.
	unread  error
	signers []signerInfo
}

// maxSigners and maxCertificates limit the work that a file of a few kilobytes can cause: crypto/x509 may check 100 signatures
// before it gives up on a single chain.
const (
	maxSigners      = 4
	maxCertificates = 32
)

var (
	oidData       = encoding.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData = encoding.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}

	tag0 = asn1.Tag(0).ContextSpecific().Constructed()
	tag1 = asn1.Tag(1).ContextSpecific().Constructed()
)

// Parse reads SignedData from a PEM block, DER, or BER with indefinite lengths. It fails with ErrNotCMS or ErrMalformed. Parse
// does not verify the signatures; the result has at least one. The caller limits the size of data, because Parse uses memory
// in proportion to it.
func Parse(data []byte) (*Signed, error) {
	ber, err := unarmor(data)
	if err != nil {
		return nil, err
	}
	der, err := definite(ber)
	if err != nil {
		return nil, err
	}
	body, err := readContentInfo(der)
	if err != nil {
		return nil, err
	}
	return readSignedData(body)
}

// Content returns the content that the CMS carries. ok is false if the content is detached.
func (s *Signed) Content() (content []byte, ok bool) {
	return s.content, !s.detached
}

// Digests returns the digest algorithms whose results Verify needs, without algorithms that are not accepted.
func (s *Signed) Digests() []crypto.Hash {
	var out []crypto.Hash
	for _, si := range s.signers {
		if h, err := si.digest.hash(); err == nil && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	slices.Sort(out)
	return out
}

// readContentInfo reads ContentInfo (RFC 5652 section 3) and returns its SignedData.
func readContentInfo(der cryptobyte.String) (cryptobyte.String, error) {
	var info, explicit, body cryptobyte.String
	var kind encoding.ObjectIdentifier
	if !der.ReadASN1(&info, asn1.SEQUENCE) || !info.ReadASN1ObjectIdentifier(&kind) {
		return nil, fmt.Errorf("%w: it has no content type", ErrNotCMS)
	}
	if !kind.Equal(oidSignedData) {
		return nil, fmt.Errorf("%w: its content type is %s, expected %s", ErrNotCMS, kind, oidSignedData)
	}
	if !info.ReadASN1(&explicit, tag0) || !info.Empty() ||
		!explicit.ReadASN1(&body, asn1.SEQUENCE) || !explicit.Empty() {
		return nil, malformed("ContentInfo")
	}
	return body, nil
}

// readSignedData reads SignedData (RFC 5652 5.1). It skips the version and the digest algorithms, because each signer states its
// algorithm. It skips revocation lists, because their trustworthiness is unknown.
func readSignedData(body cryptobyte.String) (*Signed, error) {
	var encapsulated, certificates, signers cryptobyte.String
	if !body.SkipASN1(asn1.INTEGER) || !body.SkipASN1(asn1.SET) ||
		!body.ReadASN1(&encapsulated, asn1.SEQUENCE) ||
		!body.ReadOptionalASN1(&certificates, nil, tag0) ||
		!body.SkipOptionalASN1(tag1) ||
		!body.ReadASN1(&signers, asn1.SET) || !body.Empty() {
		return nil, malformed("SignedData")
	}
	s := &Signed{}
	for _, err := range []error{
		s.readContent(encapsulated), s.readCertificates(certificates), s.readSigners(signers),
	} {
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readContent reads EncapsulatedContentInfo (RFC 5652 5.2).
func (s *Signed) readContent(in cryptobyte.String) error {
	var explicit cryptobyte.String
	var carried bool
	if !in.ReadASN1ObjectIdentifier(&s.contentType) ||
		!in.ReadOptionalASN1(&explicit, &carried, tag0) || !in.Empty() {
		return malformed("EncapsulatedContentInfo")
	}
	s.detached = !carried
	if carried && (!explicit.ReadASN1Bytes(&s.content, asn1.OCTET_STRING) || !explicit.Empty()) {
		return malformed("the content is no octet string")
	}
	return nil
}

// readCertificates reads CertificateSet (RFC 5652 10.2.3) and skips entries that are not X.509 certificates.
func (s *Signed) readCertificates(in cryptobyte.String) error {
	for n := 0; !in.Empty(); n++ {
		var one cryptobyte.String
		var tag asn1.Tag
		if !in.ReadAnyASN1Element(&one, &tag) {
			return malformed("CertificateSet")
		}
		if n == maxCertificates {
			return malformed("it holds more than %d certificates", maxCertificates)
		}
		if tag != asn1.SEQUENCE {
			continue
		}
		c, err := x509.ParseCertificate(one)
		if err != nil {
			s.unread = err
			continue
		}
		s.certificates = append(s.certificates, c)
	}
	return nil
}

func (s *Signed) readSigners(in cryptobyte.String) error {
	for !in.Empty() {
		var one cryptobyte.String
		if !in.ReadASN1(&one, asn1.SEQUENCE) {
			return malformed("SignerInfos")
		}
		if len(s.signers) == maxSigners {
			return malformed("it has more than %d signers", maxSigners)
		}
		si, err := readSignerInfo(one)
		if err != nil {
			return err
		}
		s.signers = append(s.signers, si)
	}
	if len(s.signers) == 0 {
		return malformed("there is no signature: it has certificates at most")
	}
	return nil
}
