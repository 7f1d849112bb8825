package csar

import (
	"crypto/x509"
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/cms"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// packageCertificates reads the certificates for the manifest: the file that ETSI-Entry-Certificate names, and the file beside the
// manifest with the same name (SOL004 4.1.3).
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

// certificateBeside returns the files with the name of another file and the suffix of a certificate.
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

// certificatesIn reads a file of certificates that the line at pos names.
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

// maxSignatureSize limits the size of files with signatures or certificates, which are read as a whole. Real files have a few KiB.
const maxSignatureSize = 64 << 10

// named reads the file of a signature or of certificates that the line at pos names.
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
