package tosca

import (
	"encoding/hex"
	"io/fs"
	"path"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// checkFiles warns about artifacts whose file is not in the package, and reports checksums that contradict each other.
func (b *builder) checkFiles(v *VNFD) {
	seen := map[problem.Position]bool{} // artifacts of types belong to several templates
	sums := checksums{builder: b, known: map[[2]string]checksum{}}
	sums.addPackage()
	for _, t := range append([]Topology{v.Entry}, topologiesOf(v.Flavours)...) {
		for _, n := range t.Nodes {
			for _, key := range sortedKeys(n.Artifacts) {
				a := n.Artifacts[key]
				if seen[a.Pos] {
					continue
				}
				seen[a.Pos] = true
				if !b.isElsewhere(n, a) && !b.hasFile(a.File) {
					b.report.Warnf(a.Pos, problem.MissingFile, "the file %q of the artifact %s is not in the package", a.File, key)
				}
				algorithm, _ := a.Other["checksum_algorithm"].(string)
				sum, _ := a.Other["checksum"].(string)
				sums.add(a.File, algorithm, sum, a.Pos)
			}
		}
	}
	for _, f := range v.Flavours {
		for _, image := range f.images() {
			sums.add(image.File, image.ChecksumAlgorithm, image.Checksum, image.Pos)
		}
	}
}

func topologiesOf(flavours []Flavour) []Topology {
	var list []Topology
	for _, f := range flavours {
		list = append(list, f.Topology)
	}
	return list
}

// images returns the software images of VDUs, storages and containers.
func (f *Flavour) images() []SoftwareImage {
	var list []SoftwareImage
	add := func(image *SoftwareImage) {
		if image != nil {
			list = append(list, *image)
		}
	}
	for _, v := range f.VDUs {
		add(v.Image)
	}
	for _, s := range f.Storages {
		add(s.Image)
	}
	for _, c := range f.Containers {
		add(c.Image)
	}
	return list
}

// isElsewhere reports whether the file of an artifact need not be in the package: a URL, a file of a repository, the name of a container
// image, or a value that only a request can set.
func (b *builder) isElsewhere(n NodeTemplate, a Artifact) bool {
	return a.File == "" || a.Other["repository"] != nil || strings.Contains(a.File, "://") || strings.HasPrefix(a.File, "{") ||
		n.Is(typeContainer)
}

// hasFile reports whether the package has a file or a folder of this name, which is written in a VNFD.
func (b *builder) hasFile(file string) bool {
	if _, err := b.pkg.Artifact(file); err == nil {
		return true
	}
	for _, dir := range []string{path.Dir(b.pkg.Meta().EntryDefinitions), "."} {
		if info, err := fs.Stat(b.pkg, path.Join(dir, file)); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// checksums compares the checksums that a package states for its files.
type checksums struct {
	*builder
	known map[[2]string]checksum // by file and algorithm
}

// checksum is a checksum in hexadecimal and where it stands.
type checksum struct {
	sum string
	pos problem.Position
}

// addPackage adds the digests of TOSCA.meta and of the manifest.
func (c checksums) addPackage() {
	for _, e := range c.pkg.Meta().Artifacts {
		c.addFile(".", e.Name, e.Algorithm, e.Hash, e.Pos)
	}
	if m := c.pkg.Manifest(); m != nil {
		for _, s := range m.Sources {
			c.addFile(".", s.Name, s.Algorithm, s.Hash, s.Pos)
		}
	}
}

// add adds a checksum of the VNFD.
func (c checksums) add(file, algorithm, sum string, pos problem.Position) {
	c.addFile(path.Dir(c.pkg.Meta().EntryDefinitions), file, algorithm, sum, pos)
}

// addFile compares a checksum with the earlier ones of the same file in the same algorithm. Texts that are no checksum are ignored.
func (c checksums) addFile(dir, file, algorithm, sum string, pos problem.Position) {
	name, _ := c.pkg.Locate(dir, file)
	algorithm = strings.ReplaceAll(strings.ToLower(algorithm), "-", "")
	if _, err := hex.DecodeString(sum); err != nil || name == "" || sum == "" || algorithm == "" {
		return
	}
	key := [2]string{name, algorithm}
	earlier, known := c.known[key]
	if !known {
		c.known[key] = checksum{sum, pos}
		return
	}
	if !strings.EqualFold(earlier.sum, sum) {
		c.report.Errorf(pos, problem.HashMismatch, "the %s checksum of %s is %s here, and %s at %s", algorithm, name, sum, earlier.sum, earlier.pos)
	}
}
