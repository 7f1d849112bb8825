package etsi

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed sol001/*/*.yaml.gz
var files embed.FS

// versions are the bundled releases of SOL001, oldest first.
var versions = []string{
	"2.5.1", "2.6.1", "2.7.1", "2.8.1",
	"3.3.1", "3.5.1", "3.6.1", "3.7.1",
	"4.2.1", "4.3.1", "4.4.1",
}

// Versions returns the bundled releases of SOL001, oldest first.
func Versions() []string { return slices.Clone(versions) }

// File is a type definition file of SOL001.
type File struct {
	// Name is the name that ETSI gives to the file, for example etsi_nfv_sol001_vnfd_types.yaml.
	Name string
	// Version is the release of SOL001 that the file belongs to, for example 2.6.1. Imports without a version in the file
	// refer to files of the same release.
	Version string
}

// String returns the name with the release, in the form in which problems name the file.
func (f File) String() string { return "etsi:" + f.Version + "/" + f.Name }

// typeFile matches the names under which packages import the files. The files of 2.5.1 were published with the release
// inside the name, and some packages omit the extension: etsi_nfv_sol001_vnfd_2_5_1_types.yaml,
// etsi_nfv_sol001_vnfd_types.
var typeFile = regexp.MustCompile(
	`^etsi_nfv_sol001_(vnfd|common|nsd|pnfd)(?:_v?([0-9]+[._][0-9]+[._][0-9]+))?_types(?:_v?([0-9]+[._][0-9]+[._][0-9]+))?(?:\.ya?ml)?$`)

// pathVersion matches a release that is a folder in a path or a tag in a URL:
// https://forge.etsi.org/rep/nfv/SOL001/raw/v2.6.1/etsi_nfv_sol001_vnfd_types.yaml.
var pathVersion = regexp.MustCompile(`^v?([0-9]+[._][0-9]+[._][0-9]+)$`)

// Lookup returns the file that an import names by file name, path or URL. The release is taken from the name or the path; if
// they have no release, it is otherwise (see VersionFor). Lookup returns false for names that are not ETSI's, and for releases
// that are not bundled: checking against the types of another release would report wrong faults.
func Lookup(target, otherwise string) (File, bool) {
	target, _, _ = strings.Cut(target, "?") // GitLab's ?inline=false
	dir, base := path.Split(strings.ToLower(strings.ReplaceAll(target, `\`, "/")))
	m := typeFile.FindStringSubmatch(base)
	if m == nil {
		return File{}, false
	}
	version := otherwise
	for folder := range strings.SplitSeq(dir, "/") {
		if v := pathVersion.FindStringSubmatch(folder); v != nil {
			version = v[1]
		}
	}
	for _, inName := range m[2:] {
		if inName != "" {
			version = inName
		}
	}
	f := File{Name: "etsi_nfv_sol001_" + m[1] + "_types.yaml", Version: strings.ReplaceAll(version, "_", ".")}
	if !slices.Contains(versions, f.Version) {
		return File{}, false
	}
	if _, err := fs.Stat(files, f.path()); err != nil { // release 2.5.1 has no common types
		return File{}, false
	}
	return f, true
}

// IsTypeFile reports whether an import names a type file of SOL001, of any release.
func IsTypeFile(target string) bool {
	target, _, _ = strings.Cut(target, "?")
	return typeFile.MatchString(strings.ToLower(path.Base(strings.ReplaceAll(target, `\`, "/"))))
}

// VersionFor returns the release of SOL001 for imports without a version, which most packages have. Its arguments are the
// tosca_definitions_version, and template_name and template_version from the metadata, of the importing document.
//
// In a copy of one of ETSI's files, which the metadata identifies, imports refer to the release of the copy. In other documents
// in TOSCA 1.3, imports refer to the newest release, 4.4.1, because ETSI uses TOSCA 1.3 from 3.3.1 on. In all other documents,
// they refer to 2.6.1: VNFMs implement this release, and nearly all public packages are written for it.
func VersionFor(toscaVersion, templateName, templateVersion string) string {
	switch {
	case IsTypeFile(templateName) && slices.Contains(versions, templateVersion):
		return templateVersion
	case toscaVersion == "tosca_simple_yaml_1_3":
		return "4.4.1"
	}
	return "2.6.1"
}

// Content returns the content of the file.
func (f File) Content() []byte {
	packed, err := files.ReadFile(f.path())
	if err == nil {
		packed, err = unpack(packed)
	}
	if err != nil {
		panic(fmt.Sprintf("etsi: bundled %s: %v", f, err)) // Lookup checked that the file exists, and tests unpack each file
	}
	return packed
}

func (f File) path() string { return "sol001/" + f.Version + "/" + f.Name + ".gz" }

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
