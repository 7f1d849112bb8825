package cms

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	encoding "encoding/asn1"
	"fmt"
	"math/big"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// signerInfo is SignerInfo (RFC 5652 5.3) without the unsigned attributes, which no signature protects.
type signerInfo struct {
	id     identifier
	digest algorithm
	// attributes are the signed attributes as received; nil if the content is signed directly.
	attributes         cryptobyte.String
	signatureAlgorithm algorithm
	signature          []byte
}

func readSignerInfo(in cryptobyte.String) (signerInfo, error) {
	var si signerInfo
	if !in.SkipASN1(asn1.INTEGER) || !si.id.read(&in) || !si.digest.read(&in) {
		return si, malformed("SignerInfo, in the identifier or digest algorithm of the signer")
	}
	var hasAttributes bool
	if !in.ReadOptionalASN1(&si.attributes, &hasAttributes, tag0) || hasAttributes && si.attributes.Empty() {
		return si, malformed("SignerInfo, in the signed attributes")
	}
	if !si.signatureAlgorithm.read(&in) || !in.ReadASN1Bytes(&si.signature, asn1.OCTET_STRING) ||
		!in.SkipOptionalASN1(tag1) || !in.Empty() {
		return si, malformed("SignerInfo, in the signature")
	}
	return si, nil
}

// identifier is SignerIdentifier: either the key identifier, or the issuer and the serial number.
type identifier struct {
	keyID  []byte
	issuer cryptobyte.String
	serial *big.Int
}

// maxIdentifier limits the bytes of an identifier. Real names and serial numbers are far shorter.
const maxIdentifier = 4096

func (id *identifier) read(in *cryptobyte.String) bool {
	begin := len(*in)
	return id.readChoice(in) && begin-len(*in) <= maxIdentifier
}

func (id *identifier) readChoice(in *cryptobyte.String) bool {
	if keyTag := asn1.Tag(0).ContextSpecific(); in.PeekASN1Tag(keyTag) {
		return in.ReadASN1Bytes(&id.keyID, keyTag) && len(id.keyID) > 0
	}
	var both cryptobyte.String
	id.serial = new(big.Int)
	return in.ReadASN1(&both, asn1.SEQUENCE) && both.ReadASN1Element(&id.issuer, asn1.SEQUENCE) &&
		both.ReadASN1Integer(id.serial) && both.Empty()
}

func (id identifier) matches(c *x509.Certificate) bool {
	if id.serial == nil {
		return bytes.Equal(id.keyID, c.SubjectKeyId)
	}
	return bytes.Equal(id.issuer, c.RawIssuer) && id.serial.Cmp(c.SerialNumber) == 0
}

// String returns the identifier in the notation in which openssl prints certificates.
func (id identifier) String() string {
	if id.serial == nil {
		return fmt.Sprintf("subject key identifier %X", id.keyID)
	}
	var issuer pkix.RDNSequence
	if _, err := encoding.Unmarshal(id.issuer, &issuer); err != nil {
		return fmt.Sprintf("serial number 0x%x", id.serial)
	}
	return fmt.Sprintf("issuer %s, serial number 0x%x", issuer, id.serial)
}

// algorithm is AlgorithmIdentifier.
type algorithm struct {
	id         encoding.ObjectIdentifier
	parameters cryptobyte.String
}

func (a *algorithm) read(in *cryptobyte.String) bool {
	var both cryptobyte.String
	if !in.ReadASN1(&both, asn1.SEQUENCE) || !both.ReadASN1ObjectIdentifier(&a.id) {
		return false
	}
	a.parameters = both
	return true
}
