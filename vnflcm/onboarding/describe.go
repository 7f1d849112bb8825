package onboarding

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/csar"
)

// describe returns what VnfPkgInfo has of the content of a package.
func describe(ctx context.Context, pkg *tosca.Package, now time.Time) (VnfPkgInfo, error) {
	vnfd := pkg.VNFD()
	info := VnfPkgInfo{VnfdID: vnfd.ID, VnfProvider: vnfd.Provider, VnfProductName: vnfd.ProductName, VnfSoftwareVersion: vnfd.SoftwareVersion,
		VnfdVersion: vnfd.Version, VnfmInfo: vnfd.VNFMInfo, SoftwareImages: images(pkg, now), PackageSecurityOption: "OPTION_1"}
	if m := pkg.Manifest(); m != nil {
		for version := range strings.SplitSeq(m.Metadata.Other["compatible_specification_versions"], ",") {
			if version = strings.TrimSpace(version); version != "" {
				info.CompatibleSpecificationVersion = append(info.CompatibleSpecificationVersion, version)
			}
		}
	}
	for _, s := range pkg.Signers() {
		if strings.EqualFold(path.Ext(s.Signed), ".csar") {
			info.PackageSecurityOption = "OPTION_2"
		}
		if s.Certificate != nil && info.SigningCertificate == "" {
			info.SigningCertificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate.Raw}))
		}
	}
	var err error
	info.AdditionalArtifacts, err = artifacts(ctx, pkg, info.SoftwareImages)
	return info, err
}

// images returns the images of all flavours, by VDU, storage or container.
func images(pkg *tosca.Package, now time.Time) []SoftwareImage {
	found := map[string]SoftwareImage{}
	add := func(id string, image *tosca.SoftwareImage, container string) {
		if image == nil {
			return
		}
		s := SoftwareImage{ID: id, Name: image.Name, Provider: cmp.Or(image.Provider, pkg.VNFD().Provider), Version: image.Version,
			Checksum:        Checksum{Algorithm: strings.ToUpper(image.ChecksumAlgorithm), Hash: image.Checksum},
			ContainerFormat: oneOf(containerFormats, image.ContainerFormat, container),
			DiskFormat:      oneOf(diskFormats, image.DiskFormat, strings.TrimPrefix(path.Ext(image.File), "."), "raw"),
			CreatedAt:       now.UTC().Truncate(time.Second), MinDisk: image.MinDisk, MinRAM: image.MinRAM, Size: image.Size}
		if file, err := pkg.Artifact(image.File); err == nil {
			s.ImagePath = file
		} else if strings.Contains(image.File, "://") {
			s.ImageURI = image.File
		}
		found[id] = s
	}
	for _, flavour := range pkg.VNFD().Flavours {
		for _, vdu := range flavour.VDUs {
			add(vdu.ID, vdu.Image, "bare")
		}
		for _, storage := range flavour.Storages {
			add(storage.ID, storage.Image, "bare")
		}
		for _, container := range flavour.Containers {
			add(container.ID, container.Image, "docker")
		}
	}
	var out []SoftwareImage
	for _, id := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[id])
	}
	return out
}

// The formats of SOL003 v3.3.1 10.5.3.2. A SoftwareImage must have one of each.
var (
	containerFormats = []string{"AKI", "AMI", "ARI", "BARE", "DOCKER", "OVA", "OVF"}
	diskFormats      = []string{"AKI", "AMI", "ISO", "QCOW2", "RAW", "VDI", "VHD", "VHDX", "VMDK"}
)

// oneOf returns the first of the names that is among the known formats. The last name must be.
func oneOf(known []string, names ...string) string {
	for _, name := range names {
		if name = strings.ToUpper(name); slices.Contains(known, name) {
			return name
		}
	}
	return ""
}

// artifacts returns the files that the manifest and TOSCA.meta list, without images, parts of the VNFD, signatures and certificates.
func artifacts(ctx context.Context, pkg *tosca.Package, images []SoftwareImage) ([]Artifact, error) {
	found := map[string]Artifact{}
	hidden := notArtifacts(pkg, images)
	add := func(name, algorithm, hash, set string) {
		name = strings.TrimPrefix(name, "./")
		if hidden[name] {
			return
		}
		a := Artifact{ArtifactPath: name, Checksum: Checksum{Algorithm: strings.ToUpper(algorithm), Hash: hash}}
		a.ArtifactClassification = classOf(pkg.Meta(), name)
		if strings.Contains(name, "://") {
			a.ArtifactURI = []string{name}
		} else if !pkg.Has(name) {
			return
		}
		known := found[name]
		a.NonManoArtifactSetID = cmp.Or(set, known.NonManoArtifactSetID)
		if known.Checksum.Hash != "" {
			a.Checksum = known.Checksum
		}
		found[name] = a
	}
	if m := pkg.Manifest(); m != nil {
		for _, s := range m.Sources {
			add(s.Name, s.Algorithm, s.Hash, "")
		}
		for _, set := range m.NonMANO {
			for _, s := range set.Sources {
				add(s.Name, s.Algorithm, s.Hash, set.Name)
			}
		}
	}
	for _, a := range pkg.Meta().Artifacts {
		add(a.Name, a.Algorithm, a.Hash, "")
	}
	for _, name := range pkg.Meta().Entries {
		add(name, "", "", "")
	}
	var out []Artifact
	for _, name := range slices.Sorted(maps.Keys(found)) {
		a := found[name]
		if a.Checksum.Hash == "" && a.ArtifactURI == nil {
			sum, err := sumOf(ctx, pkg, name)
			if err != nil {
				return nil, err
			}
			a.Checksum = sum
		}
		out = append(out, a)
	}
	return out, nil
}

// notArtifacts are the files of a package that are described elsewhere.
func notArtifacts(pkg *tosca.Package, images []SoftwareImage) map[string]bool {
	hidden := map[string]bool{"TOSCA-Metadata/TOSCA.meta": true, pkg.Meta().Entries["manifest"]: true,
		pkg.Meta().Entries["certificate"]: true}
	for _, image := range images {
		hidden[image.ImagePath] = true
	}
	for _, name := range pkg.VNFDFiles() {
		hidden[name] = true
	}
	if m := pkg.Manifest(); m != nil {
		hidden[m.File] = true
		for _, s := range m.Sources {
			hidden[s.Signature], hidden[s.Certificate] = true, true
		}
	}
	return hidden
}

// classOf returns the artifactClassification of a file, "" for none (SOL003 v3.3.1 10.5.3.3).
func classOf(meta csar.Meta, name string) string {
	for entry, class := range map[string]string{"change-log": "HISTORY", "tests": "TESTING", "licenses": "LICENSE"} {
		where := strings.TrimSuffix(meta.Entries[entry], "/")
		if where != "" && (name == where || strings.HasPrefix(name, where+"/")) {
			return class
		}
	}
	return ""
}

// sumOf returns the SHA-256 of a file.
func sumOf(ctx context.Context, pkg *tosca.Package, name string) (Checksum, error) {
	if ctx.Err() != nil {
		return Checksum{}, context.Cause(ctx)
	}
	f, err := pkg.Open(name)
	if err != nil {
		return Checksum{}, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, readerUntil{ctx, f})
	return Checksum{Algorithm: "SHA-256", Hash: hex.EncodeToString(sum.Sum(nil))}, err
}
