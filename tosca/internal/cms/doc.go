// Package cms reads and verifies the signatures of VNF packages: CMS SignedData
// (RFC 5652), as SOL004 clause 5 uses it in the manifest, beside single artifacts,
// and beside a whole CSAR.
//
//	signed, err := cms.Parse(file)              // PEM, DER or BER
//	sums := hash the content, once, with each of signed.Digests()
//	for _, s := range signed.Verify(sums, cms.Options{Roots: roots, Now: now}) {
//		// s.Valid, s.Trusted, s.Reason
//	}
//
// The content is never needed whole: an image of many GiB is hashed as a stream,
// for all signatures over it at once. Signers are found by issuer and serial
// number or by subject key identifier. Accepted are RSA (PKCS #1 v1.5 and PSS),
// ECDSA and Ed25519 with SHA-256, SHA-384 or SHA-512.
//
// It reads with cryptobyte and verifies with the standard library.
// github.com/smallstep/pkcs7 v0.2.3 was looked at and would not have helped: its
// signer has no field for a key identifier, so that what "openssl cms -keyid"
// makes cannot be read; it has no RSA-PSS and no Ed25519; without signed
// attributes it wants the content in memory; it takes the first of several
// message digests, does not look at the content type attribute, and accepts
// SHA-1. A wrapper would have to redo all of these, which is all there is.
package cms
