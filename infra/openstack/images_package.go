package openstack

import (
	"context"
	"crypto"
	_ "crypto/sha256" // SHA-224 and SHA-256
	_ "crypto/sha512" // SHA-384 and SHA-512
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/glance"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// packageImage is a software image whose content is a file of the package.
type packageImage struct {
	*tosca.SoftwareImage
	pkg  *tosca.Package
	ids  []string // of the VDUs and storages that use the image
	file string   // name for Package.Open
	size int64    // of the file, in bytes
}

// fault returns an error about the image in the VNFD.
func (i packageImage) fault(value, format string, args ...any) error {
	return &vnflcm.ParamError{Path: fmt.Sprintf("VNFD %s (%s)", strings.Join(i.ids, ", "), i.Pos), Value: value, Reason: fmt.Sprintf(format, args...)}
}

// missingImages lists the images that must be uploaded: the template reads the image from nfv, the image is a file of the
// package, neither the request nor the grant nor the stack names an image, and no process has uploaded it for the
// instance. VDUs and storages with the same image share an entry.
func missingImages(ctx context.Context, op *vnflcm.Operation, template *hot.Template, current map[string]string) ([]packageImage, error) {
	uploaded, err := uploadedImages(ctx, op)
	if err != nil {
		return nil, err
	}
	parameters, err := decoded(current, template)
	if err != nil {
		return nil, err
	}
	f := &filler{op: op, template: template, current: object(parameters[nfv])}
	over := f.given() // define reports the faults that given adds to f
	var out []packageImage
	var faults []error
	for _, ref := range template.References(nfv) {
		id, image := f.imageAt(ref.Path)
		if image == nil || uploaded[id] != "" || !f.changesPackage() && f.stackNames(ref.Path) {
			continue
		}
		if _, named := lookUp(over, ref.Path[1:]); named || slices.ContainsFunc(out, func(i packageImage) bool { return slices.Contains(i.ids, id) }) {
			continue
		}
		i := packageImage{SoftwareImage: image, pkg: op.Package, ids: []string{id}}
		faults = append(faults, i.locate(), f.checkSizes(i))
		if same := slices.IndexFunc(out, i.same); same >= 0 {
			out[same].ids = append(out[same].ids, id)
			continue
		}
		out = append(out, i)
	}
	return out, errors.Join(faults...)
}

// stackNames reports whether nfv of the stack has a value at a path, or at the path of an individual VNFC of the VDU.
func (f *filler) stackNames(path []string) bool {
	for name, values := range object(f.current[path[1]]) {
		if base, _ := cutIndex(name); name == path[2] || base == path[2] {
			if _, has := lookUp(values, path[3:]); has {
				return true
			}
		}
	}
	return false
}

// imageAt returns the image of the package for a path of nfv, and the id of the VDU or storage that uses it. image is nil
// if the path does not stand for an image, if the image is not a file of the package, or if the grant names another one.
func (f *filler) imageAt(path []string) (id string, image *tosca.SoftwareImage) {
	if len(path) != 4 || path[1] != "VDU" || path[3] != "vcImageId" && path[3] != "image" {
		return "", nil
	}
	id = path[2]
	if base, index := cutIndex(id); index != "" && f.declaredImage(id) == nil {
		id = base
	}
	image = f.declaredImage(id)
	if image == nil || image.File == "" || strings.Contains(image.File, "://") || f.grantedImage(id) != "" {
		return "", nil
	}
	return id, image
}

// same reports whether i and other can share one image in Glance.
func (i packageImage) same(other packageImage) bool {
	return i.file == other.file && i.spec("") == other.spec("") && i.Checksum == other.Checksum
}

// spec returns the attributes of the image in Glance. It rounds up, because Glance counts whole GiB and MiB.
func (i packageImage) spec(digest string) glance.Spec {
	return glance.Spec{Digest: digest, DiskFormat: i.DiskFormat, ContainerFormat: i.ContainerFormat,
		MinDisk: (i.MinDisk + 1<<30 - 1) >> 30, MinRAM: (i.MinRAM + 1<<20 - 1) >> 20}
}

// locate finds the file of the image and reports faults that show without reading the file.
func (i *packageImage) locate() error {
	var err error
	if i.file, err = i.pkg.Artifact(i.File); err != nil {
		return i.fault(i.File, "the image is not in the package (%v): add the file, or name an image of the VIM in additionalParams.nfv.VDU.%s.vcImageId", err, i.ids[0])
	}
	f, err := i.pkg.Open(i.file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	i.size = info.Size()
	var faults []error
	switch {
	case i.size == 0:
		faults = append(faults, i.fault(i.File, "the image is an empty file"))
	case i.Size > 0 && i.size > i.Size:
		faults = append(faults, i.fault(i.File, "the image has %d bytes, more than its size in the VNFD: %d", i.size, i.Size))
	}
	if i.Checksum != "" && i.algorithm() == 0 {
		faults = append(faults, i.fault(i.ChecksumAlgorithm, "is no algorithm for the checksum of an image: take sha-224, sha-256, sha-384 or sha-512"))
	}
	return errors.Join(faults...)
}

// checkSizes reports machines and volumes that are too small for the image.
func (f *filler) checkSizes(i packageImage) error {
	var faults []error
	if vdu := f.op.Flavour.VDU(i.ids[0]); vdu != nil {
		c := vdu.Compute
		if c.Memory > 0 && i.MinRAM > c.Memory {
			faults = append(faults, i.fault("", "the image wants %d bytes of memory (min_ram), the VDU has %d", i.MinRAM, c.Memory))
		}
		if len(c.LocalStorage) > 0 && i.MinDisk > c.LocalStorage[0] {
			faults = append(faults, i.fault("", "the image wants a disk of %d bytes (min_disk), that of the VDU has %d", i.MinDisk, c.LocalStorage[0]))
		}
	}
	for _, s := range f.op.Flavour.Storages {
		if s.ID == i.ids[0] && s.Size > 0 && i.MinDisk > s.Size {
			faults = append(faults, i.fault("", "the image wants a disk of %d bytes (min_disk), the storage has %d", i.MinDisk, s.Size))
		}
	}
	return errors.Join(faults...)
}

// checksums holds the algorithms of SOL001 and the lengths of their digests in hexadecimal. The length shows the algorithm
// if the package names none.
var checksums = map[string]struct {
	hash   crypto.Hash
	length int
}{"sha224": {crypto.SHA224, 56}, "sha256": {crypto.SHA256, 64}, "sha384": {crypto.SHA384, 96}, "sha512": {crypto.SHA512, 128}}

// algorithm returns the hash algorithm of the checksum, or 0 if it is unknown.
func (i packageImage) algorithm() crypto.Hash {
	if i.ChecksumAlgorithm != "" {
		return checksums[strings.ReplaceAll(i.ChecksumAlgorithm, "-", "")].hash
	}
	for _, name := range slices.Sorted(maps.Keys(checksums)) {
		if checksums[name].length == len(i.Checksum) {
			return checksums[name].hash
		}
	}
	return 0
}

// read reads the file once, compares its checksum with the checksum in the VNFD, and returns its attributes in Glance.
func (i packageImage) read(ctx context.Context) (glance.Spec, error) {
	f, err := i.pkg.Open(i.file)
	if err != nil {
		return glance.Spec{}, err
	}
	defer f.Close()
	digest, sum := crypto.SHA512.New(), crypto.SHA512.New()
	if i.Checksum != "" {
		sum = i.algorithm().New()
	}
	n, err := io.Copy(io.MultiWriter(digest, sum), contextReader{ctx, f})
	if err != nil {
		return glance.Spec{}, err
	}
	if n != i.size {
		return glance.Spec{}, fmt.Errorf("%s has %d bytes instead of %d", i.file, n, i.size)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); i.Checksum != "" && !strings.EqualFold(got, i.Checksum) {
		return glance.Spec{}, i.fault(i.Checksum, "is not the checksum of %s: that is %s", i.file, got)
	}
	return i.spec(hex.EncodeToString(digest.Sum(nil))), nil
}

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context //nolint:containedctx // lives as long as one read
	io.Reader
}

func (c contextReader) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.Reader.Read(b)
}
