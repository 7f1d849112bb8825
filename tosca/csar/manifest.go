package csar

import (
	"errors"
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Manifest is the content of the manifest file, .mf (SOL004 4.3.2).
type Manifest struct {
	// File is the path of the manifest in the package.
	File string
	// Metadata is the metadata block.
	Metadata Metadata
	// Sources are the listed files in the order of the manifest.
	Sources []Source
	// NonMANO are the sets of artifacts that a VNFM does not use (SOL004 4.3.7).
	NonMANO []ArtifactSet

	// signed is the text before the signature, which the signature covers. cms is the signature, nil for an unsigned manifest.
	// cmsPos is the position of its first line.
	signed, cms []byte
	cmsPos      problem.Position
}

// Signed reports whether the manifest ends with a signature. It does not say whether the signature is valid.
func (m *Manifest) Signed() bool { return m != nil && m.cms != nil }

// Metadata is the metadata block of a manifest. Its keys begin with vnf_ in VNF packages, with pnfd_ in archives of a PNFD (SOL004), and
// with nsd_ in packages of an NSD (SOL007 v2.6.1).
type Metadata struct {
	// ProductName is vnf_product_name, pnfd_name or nsd_name.
	ProductName string
	// ProviderID is vnf_provider_id, pnfd_provider or nsd_designer.
	ProviderID string
	// PackageVersion is vnf_package_version, pnfd_archive_version or nsd_file_structure_version.
	PackageVersion string
	// ReleaseDateTime is vnf_release_date_time, pnfd_release_date_time or nsd_release_date_time, as written. It should be in the form of
	// RFC 3339.
	ReleaseDateTime string
	// DescriptorID is vnfd_id, pnfd_id or pnfd_invariant_id (since SOL004 v2.7.1), or nsd_invariant_id.
	DescriptorID string
	// SoftwareVersion is vnf_software_version (since SOL004 v3.3.1).
	SoftwareVersion string
	// Other are all other keys in lower case.
	Other map[string]string
}

// ArtifactSet is a set of artifacts that a VNFM does not use.
type ArtifactSet struct {
	// Name is the registered name of the set, for instance "onap_ves_events".
	Name string
	// Sources are the files of the set.
	Sources []Source
}

// Source is an entry of the manifest: a file in the package, or a URL of a file outside of the package.
type Source struct {
	// Name is the name as written: a path from the root of the package, or a URL.
	Name string
	// Algorithm is the algorithm as written, for example "SHA-256". Hash is hexadecimal. Both are "" without a digest.
	Algorithm, Hash string
	// Signature and Certificate are files in the package, "" if the file has no separate signature.
	Signature, Certificate string
	// Pos is the position of the Source line.
	Pos problem.Position
}

// Remote reports whether the source is a URL.
func (s Source) Remote() bool { return strings.Contains(s.Name, "://") }

// path returns the path of the source in the package, false if the path leads out of the package.
func (s Source) path() (string, bool) { return resolve(".", strings.TrimSuffix(s.Name, "/")) }

// all yields the sources of the list and of the non-MANO sets.
func (m *Manifest) all(yield func(Source) bool) {
	if m == nil {
		return
	}
	for _, s := range m.Sources {
		if !yield(s) {
			return
		}
	}
	for _, set := range m.NonMANO {
		for _, s := range set.Sources {
			if !yield(s) {
				return
			}
		}
	}
}

// readManifest reads the manifest that TOSCA.meta names. If TOSCA.meta names no manifest, it reads the manifest with the name of the entry
// definitions. SOL004 4.1.3 requires this name for packages without TOSCA.meta, and other packages use it as well.
func (a *Archive) readManifest(j judge) error {
	entry, named := a.meta.Entries["manifest"]
	name, inside := resolve(".", entry)
	switch {
	case !named:
		if name = a.manifestOfEntry(); name == "" {
			return nil
		}
	case !inside:
		j.fault(a.entryLine("manifest"), problem.OutsidePackage, "the manifest %q leads out of the package", entry)
		return nil
	case !a.Has(name):
		j.fault(a.entryLine("manifest"), problem.MissingFile, "the manifest %q is not in the package", entry)
		return nil
	}
	content, err := a.Document(name)
	if err != nil {
		return j.report.Take(err)
	}
	a.manifest = parseManifest(name, string(content), j)
	a.checkManifestName(j.report)
	a.checkComplete(j.report)
	return nil
}

// checkManifestName reports a manifest that has not the name of the entry definitions with the suffix .mf (SOL004 v2.6.1 clause 4.3.2), and
// a package without TOSCA.meta that has no change log in its root (clause 4.3.3).
func (a *Archive) checkManifestName(r *report.Report) {
	entry, pos := a.meta.EntryDefinitions, problem.Position{File: a.manifest.File}
	if name := path.Base(a.manifest.File); entry != "" && name != stem(path.Base(entry))+".mf" {
		r.Add(problem.Problem{Position: pos, Severity: problem.Warning, Code: problem.MisnamedFile,
			Message: "the manifest must be named as the entry definitions", Expected: stem(path.Base(entry)) + ".mf"})
	}
	if a.metaName == "" && !a.Has(changeLog) {
		r.Warnf(pos, problem.MissingFile, "the package has a manifest, and no %s in its root", changeLog)
	}
}

// stem returns the name of a file without its suffix.
func stem(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }

// maxUnnamed limits the examined manifests that TOSCA.meta does not name.
const maxUnnamed = 16

// checkUnnamed reports the manifests that are not read. A signed one is a fault, because its signer vouched for files that would be used
// without the signature.
func (a *Archive) checkUnnamed(j judge) error {
	unnamed := 0
	for _, name := range a.source.listed.order {
		if !a.isUnnamed(name) {
			continue
		}
		if unnamed++; unnamed > maxUnnamed {
			j.fault(problem.Position{File: name}, problem.TooLarge, "more than %d manifests that are not named by TOSCA.meta", maxUnnamed)
			return nil
		}
		content, err := a.Document(name)
		if p, faulty := errors.AsType[problem.Problem](err); faulty {
			j.fault(p.Position, p.Code, "%s", p.Message)
			continue
		}
		if err != nil {
			return err
		}
		const message = "the manifest is not read: TOSCA.meta does not name it, and it has not the name of the entry definitions"
		if _, cms, _ := splitSignature(string(content)); cms != "" {
			j.fault(problem.Position{File: name}, problem.UnnamedManifest, message+". It has a signature")
		} else {
			j.report.Warnf(problem.Position{File: name}, problem.UnnamedManifest, message)
		}
	}
	return nil
}

// isUnnamed reports whether a file has the name of a manifest, and is neither the manifest of this package nor of a Java archive.
func (a *Archive) isUnnamed(name string) bool {
	return a.Has(name) && strings.EqualFold(path.Ext(name), ".mf") && !strings.EqualFold(path.Base(path.Dir(name)), "META-INF") &&
		(a.manifest == nil || a.manifest.File != name)
}

// manifestOfEntry returns the manifest with the name of the entry definitions, in their folder or in the root, "" if neither exists.
func (a *Archive) manifestOfEntry() string {
	entry := a.meta.EntryDefinitions
	beside := stem(entry) + ".mf"
	for _, name := range []string{path.Base(beside), beside} {
		if a.Has(name) {
			return name
		}
	}
	return ""
}
