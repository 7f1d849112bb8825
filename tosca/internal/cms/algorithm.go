package cms

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	_ "crypto/sha256" // crypto.SHA256
	_ "crypto/sha512" // crypto.SHA384, crypto.SHA512
	"fmt"
)

// hashes are the accepted digest algorithms (RFC 5754 section 2).
var hashes = map[string]crypto.Hash{
	"2.16.840.1.101.3.4.2.1": crypto.SHA256,
	"2.16.840.1.101.3.4.2.2": crypto.SHA384,
	"2.16.840.1.101.3.4.2.3": crypto.SHA512,
}

// refused has names, for error messages, of algorithms that occur in the field and are not accepted.
var refused = map[string]string{
	"1.2.840.113549.2.5":     "MD5",
	"1.3.14.3.2.26":          "SHA-1",
	"2.16.840.1.101.3.4.2.4": "SHA-224",
	"1.2.840.113549.1.1.4":   "RSA with MD5",
	"1.2.840.113549.1.1.5":   "RSA with SHA-1",
	"1.2.840.10045.4.1":      "ECDSA with SHA-1",
	"1.2.840.10040.4.3":      "DSA with SHA-1",
	"2.16.840.1.101.3.4.3.2": "DSA with SHA-256",
}

// scheme is a signature scheme.
type scheme int

const (
	schemeRSA scheme = iota + 1
	schemePSS
	schemeECDSA
	schemeEd25519
)

// schemes are the accepted signature algorithms (RFC 5754 section 3, RFC 4056, RFC 8419). A hash of 0 means that the digest
// algorithm of the signer determines the hash.
var schemes = map[string]struct {
	scheme scheme
	hash   crypto.Hash
}{
	"1.2.840.113549.1.1.1":  {schemeRSA, 0},
	"1.2.840.113549.1.1.11": {schemeRSA, crypto.SHA256},
	"1.2.840.113549.1.1.12": {schemeRSA, crypto.SHA384},
	"1.2.840.113549.1.1.13": {schemeRSA, crypto.SHA512},
	"1.2.840.113549.1.1.10": {schemePSS, 0},
	"1.2.840.10045.4.3.2":   {schemeECDSA, crypto.SHA256},
	"1.2.840.10045.4.3.3":   {schemeECDSA, crypto.SHA384},
	"1.2.840.10045.4.3.4":   {schemeECDSA, crypto.SHA512},
	"1.3.101.112":           {schemeEd25519, 0},
}

func (a algorithm) String() string {
	if name := refused[a.id.String()]; name != "" {
		return name
	}
	return a.id.String()
}

// hash returns the hash function of a digest algorithm. It fails with ErrAlgorithm for an algorithm that is not accepted.
func (a algorithm) hash() (crypto.Hash, error) {
	h, ok := hashes[a.id.String()]
	if !ok {
		return 0, fmt.Errorf("%w: the digest is %s, expected SHA-256, SHA-384 or SHA-512", ErrAlgorithm, a)
	}
	return h, nil
}

// method holds the parameters for verifying a signature.
type method struct {
	scheme scheme
	hash   crypto.Hash
	salt   int // length of the salt of PSS
}

// methodOf reads a signature algorithm. If the algorithm names a hash, this must be the hash of the digest algorithm (RFC 8933
// section 3).
func methodOf(a algorithm, digest crypto.Hash) (method, error) {
	known, ok := schemes[a.id.String()]
	if !ok {
		return method{}, fmt.Errorf("%w: the signature is %s, expected RSA, ECDSA or Ed25519 with SHA-2", ErrAlgorithm, a)
	}
	m := method{scheme: known.scheme, hash: digest}
	if m.scheme == schemePSS {
		p, err := readPSS(a.parameters)
		if err != nil {
			return m, err
		}
		known.hash, m.salt = p.hash, p.salt
	}
	if known.hash != 0 && known.hash != digest {
		return m, fmt.Errorf("%w: the signature is over %s, the digest of the content is %s; both must be the same", ErrAlgorithm, known.hash, digest)
	}
	return m, nil
}

// message is the data that a signature covers. whole is nil if only the digest is known.
type message struct {
	whole, digest []byte
}

// verify returns nil if the signature over a message was made with the private key that belongs to key.
func (m method) verify(key crypto.PublicKey, over message, signature []byte) error {
	if err := acceptKey(key); err != nil {
		return err
	}
	var good bool
	switch key := key.(type) {
	case *rsa.PublicKey:
		good = m.scheme == schemeRSA && rsa.VerifyPKCS1v15(key, m.hash, over.digest, signature) == nil ||
			m.scheme == schemePSS && rsa.VerifyPSS(key, m.hash, over.digest, signature, &rsa.PSSOptions{SaltLength: m.salt}) == nil
	case *ecdsa.PublicKey:
		good = m.scheme == schemeECDSA && ecdsa.VerifyASN1(key, over.digest, signature)
	case ed25519.PublicKey:
		if over.whole == nil {
			return fmt.Errorf("%w: Ed25519 over detached content needs signed attributes", ErrAlgorithm)
		}
		good = m.scheme == schemeEd25519 && ed25519.Verify(key, over.whole, signature)
	}
	if !good {
		return ErrSignature
	}
	return nil
}

// Limits for RSA keys in bits. Shorter keys are broken; crypto/rsa has the same minimum. Longer keys cost the verifier much time
// and an attacker none.
const (
	minRSA = 1024
	maxRSA = 8192
)

// acceptKey returns an error for types and sizes of keys that are not accepted.
func acceptKey(key crypto.PublicKey) error {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSA || bits > maxRSA {
			return fmt.Errorf("%w: the RSA key has %d bits, expected %d to %d", ErrAlgorithm, bits, minRSA, maxRSA)
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return fmt.Errorf("%w: the key of the certificate is neither RSA, ECDSA nor Ed25519", ErrAlgorithm)
	}
	return nil
}
