package csar

import (
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Manifest is the content of the manifest file, .mf (SOL004 4.3.2).
type Manifest struct {
	// File is its path in the package.
	File string
	// Metadata says what the package is.
	Metadata Metadata
	// Sources are the files it lists, in their order.
	Sources []Source
	// NonMANO are the sets of artifacts that the VNFM has no use for (SOL004 4.3.7).
	NonMANO []ArtifactSet

	// signed is what the signature is over: all before it. cms is the signature,
	// nil when there is none, and cmsPos its first line.
	signed, cms []byte
	cmsPos      problem.Position
}

// Signed reports whether the manifest ends with a signature, whatever it is worth.
func (m *Manifest) Signed() bool { return m != nil && m.cms != nil }

// Metadata is the metadata block of a manifest. VNF packages write the keys with
// vnf_, archives of a PNFD with pnfd_ in front.
type Metadata struct {
	// ProductName is vnf_product_name or pnfd_name.
	ProductName string
	// ProviderID is vnf_provider_id or pnfd_provider.
	ProviderID string
	// PackageVersion is vnf_package_version or pnfd_archive_version.
	PackageVersion string
	// ReleaseDateTime is vnf_release_date_time or pnfd_release_date_time, as written.
	ReleaseDateTime string
	// DescriptorID is vnfd_id or pnfd_id (since SOL004 v2.7.1).
	DescriptorID string
	// SoftwareVersion is vnf_software_version (since SOL004 v3.3.1).
	SoftwareVersion string
	// Other has all other keys, lower case.
	Other map[string]string
}

// ArtifactSet is a set of artifacts outside of the VNFM's task.
type ArtifactSet struct {
	// Name is the registered name of the set, for instance "onap_ves_events".
	Name string
	// Sources are its files.
	Sources []Source
}

// Source is an entry of the manifest: a file in the package or, as a URL, outside.
type Source struct {
	// Name is as written: a path from the root of the package, or a URL.
	Name string
	// Algorithm is as written, for instance "SHA-256"; Hash is hexadecimal. Both
	// are "" when no digest is stated.
	Algorithm, Hash string
	// Signature and Certificate are files in the package, "" when the file is not
	// signed on its own.
	Signature, Certificate string
	// Pos is the Source line.
	Pos problem.Position
}

// Remote reports whether the source is a URL, outside of the package.
func (s Source) Remote() bool { return strings.Contains(s.Name, "://") }

// path is where the source lies in the package; false when it leads out of it.
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

// readManifest reads the manifest that TOSCA.meta names or, where it names none, the
// one with the name of the entry definitions, which SOL004 4.1.3 wants of packages
// without TOSCA.meta and others have as well.
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
	return nil
}

// manifestOfEntry finds the manifest with the name of the entry definitions, beside
// them or in the root; "" when there is none.
func (a *Archive) manifestOfEntry() string {
	entry := a.meta.EntryDefinitions
	beside := strings.TrimSuffix(entry, path.Ext(entry)) + ".mf"
	for _, name := range []string{path.Base(beside), beside} {
		if a.Has(name) {
			return name
		}
	}
	return ""
}
