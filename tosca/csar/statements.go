package csar

import (
	"crypto"
	"crypto/x509"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// statement is an entry of TOSCA.meta or the manifest about the content of a file.
type statement struct {
	Source
	name      string      // name of the file in the package
	hash      crypto.Hash // 0 without a digest
	signature *signature  // nil without a separate signature
}

// maxSignatures limits the files with separate signatures.
const maxSignatures = 1000

// statements returns the digests and signatures that the package states for files. It reports statements about files that do not exist.
func (a *Archive) statements(j judge) []statement {
	var all []statement
	for _, e := range a.meta.Artifacts {
		if e.Hash != "" {
			all = a.statement(all, Source{Name: e.Name, Algorithm: e.Algorithm, Hash: e.Hash, Pos: e.Pos}, j)
		}
	}
	signed := 0
	for s := range a.manifest.all {
		if s.Signature != "" {
			if signed++; signed > maxSignatures {
				j.fault(s.Pos, problem.TooLarge, "more than %d files have separate signatures", maxSignatures)
				break
			}
		}
		all = a.statement(all, s, j)
	}
	return all
}

// statement appends the statement of one entry.
func (a *Archive) statement(all []statement, e Source, j judge) []statement {
	says := e.Hash != "" || e.Signature != ""
	name, inside := e.path()
	switch {
	case e.Remote():
		return all
	case !inside:
		j.fault(e.Pos, problem.OutsidePackage, "the source %q leads out of the package", e.Name)
		return all
	case a.Has(name):
	case a.hasFolder(name):
		if says {
			j.fault(e.Pos, problem.MissingFile, "%s is a folder, and no file with a digest or signature", e.Name)
		}
		return all
	case says || a.manifest.Signed():
		j.fault(e.Pos, problem.MissingFile, "%s is not in the package", e.Name)
		return all
	default:
		j.report.Warnf(e.Pos, problem.MissingFile, "%s is not in the package", e.Name)
		return all
	}
	if !says {
		return all
	}
	s := statement{Source: e, name: name}
	if e.Hash != "" {
		s.hash = hashOf(e.Algorithm)
		switch name := s.hash.String(); {
		case s.hash == 0:
			j.fault(e.Pos, problem.HashAlgorithm, "%s has a digest in %q; accepted are SHA-256, SHA-384 and SHA-512", e.Name, e.Algorithm)
		case !strings.EqualFold(name, e.Algorithm):
			j.report.Add(problem.Problem{Position: e.Pos, Severity: problem.Warning, Code: problem.HashAlgorithm,
				Message: "the algorithm " + e.Algorithm + " is written in another way than IANA registered it", Expected: name})
		}
	}
	if e.Signature != "" {
		s.signature = a.readSignature(e, j)
	}
	return append(all, s)
}

// readSignature reads the signature over a single file (SOL004 5.3).
func (a *Archive) readSignature(e Source, j judge) *signature {
	content, ok := a.named(e.Signature, e.Pos, j)
	if !ok {
		return nil
	}
	signed, err := cms.Parse(content)
	if err != nil {
		j.fault(e.Pos, problem.BadCMS, "the signature %s over %s: %v", e.Signature, e.Name, err)
		return nil
	}
	return &signature{cms: signed, pos: e.Pos, file: e.Signature, signed: e.Name}
}

// certificatesOf returns the certificates for the signature of a single file: the file of certificates that the manifest names, else the
// certificates beside the file, and also the certificates for the whole package.
func (a *Archive) certificatesOf(s statement, common []*x509.Certificate, j judge) []*x509.Certificate {
	all := slices.Clone(common)
	files := []string{s.Certificate}
	if s.Certificate == "" {
		files = a.certificateBeside(s.name)
	}
	for _, file := range files {
		all = append(all, a.certificatesIn(file, s.Pos, j)...)
	}
	return all
}

// checkListed reports the files that the signature of a signed manifest does not protect.
func (a *Archive) checkListed(j judge) {
	for name, listed := range a.unprotected {
		switch pos := (problem.Position{File: name}); {
		case listed != nil:
			j.doubt(listed.Pos, problem.NoDigest, "%s is listed without a digest: it could be changed unnoticed", name)
		case name == a.metaName:
			j.doubt(pos, problem.NoDigest, "the manifest does not list it: it could be changed unnoticed")
		default:
			j.fault(pos, problem.Unlisted, "the signed manifest does not list it")
		}
	}
}

// checkComplete reports the files for which an unsigned manifest with digests states none. SOL004 v2.6.1 clause 4.3.2 wants digests of all
// local and external files if there are any. Many packages have a manifest without digests, which states nothing.
func (a *Archive) checkComplete(r *report.Report) {
	hasDigests := false
	for s := range a.manifest.all {
		hasDigests = hasDigests || s.Hash != ""
	}
	if !hasDigests || a.manifest.Signed() {
		return
	}
	for name, listed := range a.unprotected {
		switch {
		case listed != nil:
			r.Warnf(listed.Pos, problem.NotInManifest, "%s is listed without a digest, and other files with one", name)
		case name != a.metaName:
			r.Warnf(problem.Position{File: name}, problem.NotInManifest, "the manifest does not list it")
		}
	}
	for s := range a.manifest.all {
		if s.Remote() && s.Hash == "" {
			r.Warnf(s.Pos, problem.NotInManifest, "the external file %s is listed without a digest", s.Name)
		}
	}
}

// unprotected yields the files that no digest or signature of the manifest covers, each with the entry that lists it or nil. The manifest
// and the files of signatures and certificates need no protection: SOL004 5.2 requires no digest of them, and an attacker gains nothing by
// changing them.
func (a *Archive) unprotected(yield func(name string, listed *Source) bool) {
	exempt := map[string]bool{a.manifest.File: true}
	for _, file := range a.certificateFiles() {
		exempt[file] = true
	}
	listed, protected := map[string]*Source{}, map[string]bool{}
	for s := range a.manifest.all {
		for _, file := range []string{s.Signature, s.Certificate} {
			if name, inside := resolve(".", file); inside {
				exempt[name] = true
			}
		}
		if name, inside := s.path(); inside {
			listed[name] = &s
			protected[name] = protected[name] || s.Hash != "" || s.Signature != ""
			if s.Signature != "" && s.Certificate == "" {
				for _, file := range a.certificateBeside(name) {
					exempt[file] = true
				}
			}
		}
	}
	for _, name := range a.source.listed.order {
		if !a.source.listed.dirs[name] && !protected[name] && !exempt[name] && !yield(name, listed[name]) {
			return
		}
	}
}
