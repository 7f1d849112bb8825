package cms

import (
	"crypto"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// pss is RSASSA-PSS-params (RFC 4055 3.1).
type pss struct {
	hash crypto.Hash
	salt int
}

// oidMGF1 is MGF1, the only mask generation function of RFC 4055.
const oidMGF1 = "1.2.840.113549.1.1.8"

// maxSalt limits the length of the salt. It is larger than the longest salt that fits a key of maxRSA bits.
const maxSalt = maxRSA / 8

// readPSS reads the parameters of a PSS signature. Omitted parameters default to SHA-1, so readPSS refuses them. crypto/rsa uses
// the hash of the message for the mask, as RFC 4056 section 3 recommends, so readPSS refuses another mask hash. crypto/rsa
// accepts any salt for a salt length of 0, which does not weaken the signature.
func readPSS(in cryptobyte.String) (pss, error) {
	p := pss{salt: 20}
	var params, hash, mask, salt, trailer cryptobyte.String
	if !in.ReadASN1(&params, asn1.SEQUENCE) || !in.Empty() ||
		!params.ReadOptionalASN1(&hash, nil, tag0) ||
		!params.ReadOptionalASN1(&mask, nil, tag1) ||
		!params.ReadOptionalASN1(&salt, nil, asn1.Tag(2).ContextSpecific().Constructed()) ||
		!params.ReadOptionalASN1(&trailer, nil, asn1.Tag(3).ContextSpecific().Constructed()) || !params.Empty() {
		return p, malformed("the parameters of RSA-PSS")
	}
	if salt != nil && (!salt.ReadASN1Integer(&p.salt) || p.salt < 0 || p.salt > maxSalt) {
		return p, malformed("the salt length of RSA-PSS")
	}
	one := 1
	if trailer != nil && (!trailer.ReadASN1Integer(&one) || one != 1) {
		return p, malformed("the trailer field of RSA-PSS, expected 1")
	}
	if hash == nil || mask == nil {
		return p, fmt.Errorf("%w: RSA-PSS with SHA-1", ErrAlgorithm)
	}
	return p, p.readHashes(hash, mask)
}

func (p *pss) readHashes(hash, mask cryptobyte.String) error {
	var digest, generator, generatorDigest algorithm
	if !digest.read(&hash) || !generator.read(&mask) || !generatorDigest.read(&generator.parameters) {
		return malformed("the hash or mask of RSA-PSS")
	}
	var err error
	if p.hash, err = digest.hash(); err != nil {
		return err
	}
	if generator.id.String() != oidMGF1 || !generatorDigest.id.Equal(digest.id) {
		return fmt.Errorf("%w: RSA-PSS with another mask than MGF1 of %s", ErrAlgorithm, p.hash)
	}
	return nil
}
