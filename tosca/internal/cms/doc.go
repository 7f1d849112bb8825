// Package cms reads and verifies the signatures of VNF packages: CMS SignedData
// (RFC 5652), as SOL004 clause 5 uses it in the manifest, beside single artifacts,
// and beside a whole CSAR.
//
//	signed, err := cms.Parse(file)             // PEM, DER or BER
//	sums := digests(content, signed.Digests()) // reads the content once
//	for _, s := range signed.Verify(sums, cms.Options{Roots: roots, Now: now}) {
//		// s.Valid, s.Trusted, s.Reason
//	}
//
// The content need not be in memory: the caller hashes an image of many GiB once, as a stream, for all signatures over it. The
// package finds the certificate of a signer by issuer and serial number or by subject key identifier. It accepts RSA
// (PKCS #1 v1.5 and PSS), ECDSA and Ed25519 with SHA-256, SHA-384 or SHA-512.
//
// The package reads with cryptobyte and verifies with the standard library. It does not use github.com/smallstep/pkcs7 v0.2.3,
// which has no field for a key identifier (openssl cms -keyid), no RSA-PSS and no Ed25519, needs the content in memory if there
// are no signed attributes, takes the first of several message digests, ignores the content type attribute, and accepts SHA-1.
package cms
