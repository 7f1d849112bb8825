package cms

import (
	"errors"
	"fmt"
)

// Errors that Parse returns and that Signer.Reason wraps.
var (
	// ErrNotCMS is wrapped if the data is neither a PEM block of CMS nor BER, or is not SignedData.
	ErrNotCMS = errors.New("not CMS SignedData")
	// ErrMalformed is wrapped if the data violates RFC 5652.
	ErrMalformed = errors.New("malformed")
	// ErrAlgorithm is wrapped if a digest algorithm, signature algorithm or key is too weak or unknown.
	ErrAlgorithm = errors.New("algorithm not accepted")
	// ErrDigest is wrapped if the content differs from the signed content.
	ErrDigest = errors.New("content differs from what was signed")
	// ErrSignature is wrapped if the signature was not made with the certificate's key. Without signed attributes it
	// also means changed content: such a signature cannot distinguish the two causes.
	ErrSignature = errors.New("signature does not verify")
	// ErrNoCertificate is wrapped if the certificate of a signer is neither in the CMS nor in Options.Certificates.
	ErrNoCertificate = errors.New("certificate of the signer is missing")
	// ErrExpired is wrapped if the signer's chain leads to one of the roots, but a certificate of the chain is not valid at
	// Options.Now.
	ErrExpired = errors.New("certificate is outside its validity period")
	// ErrUntrusted is wrapped if no chain leads from the signer to a root.
	ErrUntrusted = errors.New("signer is not trusted")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}
