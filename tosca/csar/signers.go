package csar

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Signer is a signer of the package or of a part of it.
type Signer struct {
	// File is the file with the signature: the manifest, a signature file, or a file beside the CSAR (option 2).
	File string
	// Signed names the signed content: the manifest, a file of the package, or the CSAR.
	Signed string
	// Name is the name of the signer in the signature.
	Name string
	// Certificate is the signer's certificate, nil if the package does not contain it.
	Certificate *x509.Certificate
	// Valid is set if the holder of Certificate signed this content. Trusted is set if, in addition, a chain leads from
	// Certificate to one of the roots.
	Valid, Trusted bool
	// Code is the cause why the signer is not trusted, "" for a trusted signer. Reason is the cause as a text.
	Code   problem.Code
	Reason string
}

// Signers returns the signers of the manifest and, after Verify or Digest, all signers. With the policy Off the list is empty.
func (a *Archive) Signers() []Signer {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := append([]Signer{}, a.signers...)
	if a.checked != nil {
		all = append(all, a.checked.signers...)
	}
	return all
}

// signature is one CMS with the certificates to verify it.
type signature struct {
	cms          *cms.Signed
	certificates []*x509.Certificate
	// pos is the position for faults; file and signed are the fields of Signer.
	pos          problem.Position
	file, signed string
}

// verify checks a signature against the digests of its content. forms are the digests of alternative encodings of the content; verify
// uses the encoding with a valid signature.
func (s *signature) verify(j judge, forms ...map[crypto.Hash][]byte) []Signer {
	var found []cms.Signer
	for _, sums := range forms {
		now := s.cms.Verify(sums, cms.Options{
			Roots: j.integrity.Roots, Certificates: s.certificates, Now: j.integrity.Now(),
		})
		if found == nil || anyValid(now) {
			found = now
		}
		if anyValid(now) {
			break
		}
	}
	return s.report(j, found)
}

func anyValid(signers []cms.Signer) bool {
	for _, s := range signers {
		if s.Valid {
			return true
		}
	}
	return false
}

// report reports the faults of signers. One trusted signer is enough: other signers need not be trusted, but their signatures must be
// valid.
func (s *signature) report(j judge, found []cms.Signer) []Signer {
	var out []Signer
	trusted := false
	for _, f := range found {
		trusted = trusted || f.Trusted
	}
	for _, f := range found {
		signer := Signer{
			File: s.file, Signed: s.signed, Name: f.ID,
			Certificate: f.Certificate, Valid: f.Valid, Trusted: f.Trusted,
		}
		if f.Reason != nil {
			signer.Code, signer.Reason = codeOf(f.Reason), f.Reason.Error()
			tell := j.fault
			switch {
			case f.Valid && trusted:
				tell = j.report.Warnf
			case f.Valid && j.integrity.Roots == nil:
				tell = j.doubt
			}
			tell(s.pos, signer.Code, "signature over %s by %s: %s", s.signed, f.ID, signer.Reason)
		}
		out = append(out, signer)
	}
	return out
}

// codeOf returns the code for the cause why a signer is not trusted.
func codeOf(reason error) problem.Code {
	for _, known := range []struct {
		err  error
		code problem.Code
	}{
		{cms.ErrDigest, problem.BadSignature},
		{cms.ErrSignature, problem.BadSignature},
		{cms.ErrAlgorithm, problem.SignatureAlgorithm},
		{cms.ErrNoCertificate, problem.NoCertificate},
		{cms.ErrExpired, problem.Expired},
		{cms.ErrUntrusted, problem.Untrusted},
	} {
		if errors.Is(reason, known.err) {
			return known.code
		}
	}
	return problem.BadCMS
}

// checkSigned checks the signature over the whole package. It verifies the signature over the manifest, which needs only the manifest. A
// signature over the CSAR is verified when the whole CSAR is read.
func (a *Archive) checkSigned(j judge) {
	switch {
	case j.integrity.Policy == Off:
	case a.manifest.Signed():
		a.checkListed(j)
		a.checkManifest(j)
	case j.integrity.Policy == Require && !a.source.wrapping.signed():
		j.fault(problem.Position{}, problem.Unsigned, "the package is not signed: neither its manifest nor the CSAR")
	}
}

// checkManifest verifies the signature over the manifest (SOL004 5.2).
func (a *Archive) checkManifest(j judge) {
	m := a.manifest
	signed, err := cms.Parse(m.cms)
	if err != nil {
		j.fault(m.cmsPos, problem.BadCMS, "the signature of the manifest: %v", err)
		return
	}
	s := &signature{cms: signed, certificates: a.packageCertificates(j), pos: m.cmsPos, file: m.File, signed: m.File}
	var forms []map[crypto.Hash][]byte
	for _, form := range textForms(m.signed) {
		forms = append(forms, sumsOf(form, signed.Digests()))
	}
	a.signers = s.verify(j, forms...)
}

// textForms returns the encodings in which programs sign the text before a signature: unchanged, with the line ends of Unix, or with
// CRLF, as CMS requires for text (RFC 8551 3.1.1), and each of these without the last line end. All encode the same manifest.
func textForms(text []byte) [][]byte {
	unix := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	var forms [][]byte
	for _, form := range [][]byte{text, unix, bytes.ReplaceAll(unix, []byte("\n"), []byte("\r\n"))} {
		forms = append(forms, form)
		if cut, ok := bytes.CutSuffix(form, []byte("\n")); ok {
			forms = append(forms, bytes.TrimSuffix(cut, []byte("\r")))
		}
	}
	return forms
}

func sumsOf(content []byte, hashes []crypto.Hash) map[crypto.Hash][]byte {
	sums := map[crypto.Hash][]byte{}
	for _, h := range hashes {
		w := h.New()
		_, _ = w.Write(content)
		sums[h] = w.Sum(nil)
	}
	return sums
}
