package cms

import (
	"errors"
	"fmt"
)

// What Parse returns, and what Signer.Reason wraps.
var (
	// ErrNotCMS is wrapped when the data is neither a PEM block of CMS nor DER, or
	// is CMS of another kind than SignedData.
	ErrNotCMS = errors.New("not CMS SignedData")
	// ErrMalformed is wrapped when the data breaks the rules of RFC 5652.
	ErrMalformed = errors.New("malformed")
	// ErrAlgorithm is wrapped when a digest, signature or key is of a kind that is
	// too weak or not known.
	ErrAlgorithm = errors.New("algorithm not accepted")
	// ErrDigest is wrapped when the content is not the one that was signed.
	ErrDigest = errors.New("content differs from what was signed")
	// ErrSignature is wrapped if the signature was not made with the certificate's key. Without signed attributes it
	// also means changed content: such a signature cannot distinguish the two causes.
	ErrSignature = errors.New("signature does not verify")
	// ErrNoCertificate is wrapped when the certificate of a signer is neither in
	// the CMS nor among those given.
	ErrNoCertificate = errors.New("certificate of the signer is missing")
	// ErrExpired is wrapped when the signer's chain leads to one of the roots, but
	// a certificate of it is not valid now.
	ErrExpired = errors.New("certificate is outside its validity period")
	// ErrUntrusted is wrapped when no chain leads from the signer to a root.
	ErrUntrusted = errors.New("signer is not trusted")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}
