package csar

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Signer is somebody who signed the package or a part of it.
type Signer struct {
	// File is where the signature is: the manifest, a signature file, or one
	// beside the CSAR (option 2).
	File string
	// Signed is what the signature is over: the manifest, a file of the package,
	// or the CSAR.
	Signed string
	// Name is how the signature names the signer.
	Name string
	// Certificate is the signer's, nil when it is not in the package.
	Certificate *x509.Certificate
	// Valid is set when the holder of Certificate signed this content, Trusted
	// when, besides, the roots vouch for the certificate.
	Valid, Trusted bool
	// Code is why the signer is not trusted, "" for one who is, and Reason the same
	// for people.
	Code   problem.Code
	Reason string
}

// Signers returns who signed: after opening those of the manifest, after Verify or
// Digest all. With the policy Off nobody is looked for.
func (a *Archive) Signers() []Signer {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := append([]Signer{}, a.signers...)
	if a.checked != nil {
		all = append(all, a.checked.signers...)
	}
	return all
}

// signature is one CMS with what is needed to verify it.
type signature struct {
	cms          *cms.Signed
	certificates []*x509.Certificate
	// pos is what faults are reported at; file and signed are those of Signer.
	pos          problem.Position
	file, signed string
}

// verify checks a signature against the digests of what it is over. There may be
// several forms of it: that fits which has a signer who really signed it.
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

// report judges the signers. One who is trusted vouches for the whole: then others
// need not be trusted, but what they signed must be right.
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

// codeOf is the stable name of why a signer is not trusted.
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

// checkSigned verifies the signature over the manifest, for which only the
// manifest is needed, and refuses a package without any signature where one is
// required.
func (a *Archive) checkSigned(j judge) {
	if j.integrity.Policy == Off {
		return
	}
	if !a.manifest.Signed() {
		if a.source.wrapping == nil || len(a.source.wrapping.signatures) == 0 {
			if j.integrity.Policy == Require {
				j.fault(problem.Position{}, problem.Unsigned, "the package is not signed: neither its manifest nor the CSAR")
			}
		}
		return
	}
	a.checkListed(j)
	m := a.manifest
	certificates := a.packageCertificates(j)
	signed, err := cms.Parse(m.cms)
	if err != nil {
		j.fault(m.cmsPos, problem.BadCMS, "the signature of the manifest: %v", err)
		return
	}
	s := &signature{cms: signed, certificates: certificates, pos: m.cmsPos, file: m.File, signed: m.File}
	var forms []map[crypto.Hash][]byte
	for _, form := range textForms(m.signed) {
		forms = append(forms, sumsOf(form, signed.Digests()))
	}
	a.signers = s.verify(j, forms...)
}

// textForms are the ways in which programs sign the text before a signature: as it
// is, with the line ends of Unix or, as CMS wants text (RFC 8551 3.1.1), CRLF, and
// without the line end that separates the two. The manifest says the same in all.
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

// packageCertificates reads the certificates for the manifest: that of
// ETSI-Entry-Certificate, and one that lies beside it under its name (SOL004 4.1.3).
func (a *Archive) packageCertificates(j judge) []*x509.Certificate {
	var all []*x509.Certificate
	for _, name := range a.certificateFiles() {
		all = append(all, a.certificatesIn(name, a.entryLine("certificate"), j)...)
	}
	return all
}

func (a *Archive) certificateFiles() []string {
	var names []string
	if entry, inside := resolve(".", a.meta.Entries["certificate"]); inside && a.Has(entry) {
		names = append(names, entry)
	}
	if a.manifest == nil {
		return names
	}
	return append(names, a.certificateBeside(a.manifest.File)...)
}

// certificateBeside finds the files with the name of another and the suffix of a
// certificate.
func (a *Archive) certificateBeside(file string) []string {
	var names []string
	base := strings.TrimSuffix(file, path.Ext(file))
	for _, suffix := range certificateSuffixes {
		if a.Has(base + suffix) {
			names = append(names, base+suffix)
		}
	}
	return names
}

// certificatesIn reads a file of certificates that stands somewhere.
func (a *Archive) certificatesIn(file string, pos problem.Position, j judge) []*x509.Certificate {
	content, ok := a.named(file, pos, j)
	if !ok {
		return nil
	}
	list, err := cms.ParseCertificates(content)
	if err != nil {
		j.fault(pos, problem.BadCertificate, "the certificate file %s: %v", file, err)
	}
	return list
}

// maxSignatureSize bounds the files of signatures and certificates, which are read
// whole: they have a few KiB.
const maxSignatureSize = 64 << 10

// named reads a file of a signature or of certificates.
func (a *Archive) named(file string, pos problem.Position, j judge) ([]byte, bool) {
	name, inside := resolve(".", file)
	switch {
	case !inside:
		j.fault(pos, problem.OutsidePackage, "%q leads out of the package", file)
		return nil, false
	case !a.Has(name):
		j.fault(pos, problem.MissingFile, "%q is not in the package", file)
		return nil, false
	}
	content, err := readDocument(a, name, maxSignatureSize)
	if err != nil {
		j.fault(pos, problem.Unreadable, "%v", err)
		return nil, false
	}
	return content, true
}
