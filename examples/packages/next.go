package packages

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// edition is the second version of a sample package: the first one after replacements in its names, texts and charts.
type edition struct {
	vnfdID   string
	vnfd     string // name of the file that gets the policies
	flavours []string
	news     string   // for the change log
	selector string   // "- " if the property of the policy is a list, as since SOL001 v4.2.1
	replace  []string // for strings.NewReplacer
}

// sol001 has the types of the first version of SOL001 with the policy. The later versions that TOSCA 1.3 imports have other images of VDUs.
const sol001 = "https://forge.etsi.org/rep/nfv/SOL001/raw/v3.3.1/"

// machines is an edition with another operating system on the machines.
func machines(vnfdID, vnfd string, flavours ...string) *edition {
	return &edition{vnfdID: vnfdID, vnfd: vnfd, flavours: flavours, news: "Ubuntu 26.04 on the machines.", selector: "  ",
		replace: []string{"ubuntu-24.04-server", "ubuntu-26.04-server", "version: '24.04'", "version: '26.04'", "  - etsi_nfv_sol001", "  - " + sol001 + "etsi_nfv_sol001"}}
}

// moreWorkers is an edition of a cluster by kubespray, which cannot change machines.
func moreWorkers(vnfdID, vnfd string, flavours ...string) *edition {
	return &edition{vnfdID: vnfdID, vnfd: vnfd, flavours: flavours, news: "Up to 100 workers.", selector: "  ",
		replace: []string{"max_number_of_instances: 50", "max_number_of_instances: 100", "max_scale_level: 49", "max_scale_level: 99", "  - etsi_nfv_sol001", "  - " + sol001 + "etsi_nfv_sol001"}}
}

// pods is an edition with other images in the pods, and charts of another version.
func pods(vnfdID, vnfd string) *edition {
	return &edition{vnfdID: vnfdID, vnfd: vnfd, flavours: []string{"simple"}, news: "The images 2.0 in the pods.", selector: "- ",
		replace: []string{"tosca_simple_yaml_1_2", "tosca_simple_yaml_1_3", "0.1.0", "0.2.0", "team/web:1.0", "team/web:2.0", "team/cache:1.0", "team/cache:2.0", `appVersion: "1.0"`, `appVersion: "2.0"`}}
}

// Next returns the second version of the package, to which a VNF of the first one can be changed: its VNFD has a policy VnfPackageChange
// for each flavour. Ubuntu 26.04 is on the machines, or images 2.0 are in the pods; a cluster by kubespray can have 100 workers. The second
// version has no next one.
func (s Sample) Next() Sample {
	if s.next == nil {
		return Sample{}
	}
	return Sample{Name: s.Name + "-2", VNFDID: s.next.vnfdID, first: &s}
}

// write returns the files of the edition as a CSAR.
func (e *edition) write(first Sample) (fs.FS, error) {
	from, err := first.FS()
	if err != nil {
		return nil, err
	}
	names := strings.NewReplacer(append([]string{first.VNFDID, e.vnfdID, "'1.0'", "'2.0'", "'1.1'", "'2.0'", "_version: 1.0", "_version: 2.0", "_version: 1.1", "_version: 2.0"}, e.replace...)...)
	texts, sums := map[string][]byte{}, []string{}
	err = fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		was, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		now, err := e.text(name, was, first, names)
		texts[names.Replace(name)] = now
		sums = append(sums, digest(was), digest(now))
		return err
	})
	if err != nil {
		return nil, err
	}
	const meta = "TOSCA-Metadata/TOSCA.meta"
	texts[meta] = []byte(strings.NewReplacer(sums...).Replace(string(texts[meta])))
	return archive(texts)
}

// text returns a file of the edition.
func (e *edition) text(name string, was []byte, first Sample, names *strings.Replacer) ([]byte, error) {
	switch {
	case path.Ext(name) == ".tgz":
		return chart(was, names)
	case name == "ChangeLog.txt":
		return append([]byte("2.0\n- "+e.news+"\n\n"), was...), nil
	case name == "Definitions/"+e.vnfd:
		return []byte(names.Replace(string(was)) + e.policies(first, strings.Contains(string(was), "\n  policies:\n"))), nil
	}
	return []byte(names.Replace(string(was))), nil
}

// policies allow the change from the first version, with the same flavour.
func (e *edition) policies(first Sample, follow bool) string {
	text := "\n"
	if !follow {
		text += "  policies:\n"
	}
	for _, f := range e.flavours {
		text += "    - update_" + f + ":\n" +
			"        type: tosca.policies.nfv.VnfPackageChange\n" +
			"        properties:\n" +
			"          selector:\n" +
			"            " + e.selector + "source_descriptor_id: " + first.VNFDID + "\n" +
			"              destination_descriptor_id: " + e.vnfdID + "\n" +
			"              source_flavour_id: " + f + "\n" +
			"          modification_qualifier: up\n" +
			"          additional_modification_description: " + e.news + "\n" +
			"          destination_flavour_id: " + f + "\n"
	}
	return text
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// chart returns an archive of a chart after replacements in its texts.
func chart(was []byte, names *strings.Replacer) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(was))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	to := tar.NewWriter(zipped)
	for from := tar.NewReader(unzipped); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			err = errors.Join(to.Close(), zipped.Close())
			return out.Bytes(), err
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(from)
		if err != nil {
			return nil, err
		}
		text = []byte(names.Replace(string(text)))
		h.Size = int64(len(text))
		if err := to.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := to.Write(text); err != nil {
			return nil, err
		}
	}
}

// archive returns a ZIP archive of the files.
func archive(texts map[string][]byte) (fs.FS, error) {
	var out bytes.Buffer
	zipped := zip.NewWriter(&out)
	for name, text := range texts {
		w, err := zipped.Create(name)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
}
