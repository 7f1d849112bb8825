package openstack

import (
	"context"
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

// imageKey is the prefix of the state keys of uploaded images' ids. The VNFD of the package and, after a slash, the name of the VDU or
// storage follow. Earlier versions left the VNFD out: such a key is for the package that the VNF was instantiated with. An empty id says
// that an upload has begun.
const imageKey = "openstack/image/"

// stateKeyOf returns the state key of the image of a VDU or storage.
func stateKeyOf(pkg *tosca.Package, id string) string { return imageKey + pkg.VNFD().ID + "/" + id }

// uploadedImages returns the ids of the images that were uploaded from op.Package for the instance.
func uploadedImages(ctx context.Context, op *vnflcm.Operation) (map[string]string, error) {
	return imagesFrom(ctx, op, op.Package, op.Former == nil)
}

// imagesFrom returns the ids of the images that were uploaded from a package. isFirst says that keys without a VNFD are for it.
func imagesFrom(ctx context.Context, op *vnflcm.Operation, pkg *tosca.Package, isFirst bool) (map[string]string, error) {
	ids := map[string]string{}
	if err := readState(ctx, op.State(), imageKey, ids); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, id := range ids {
		name, own := strings.CutPrefix(key, pkg.VNFD().ID+"/")
		if id != "" && (own || isFirst && !strings.Contains(key, "/")) {
			out[name] = id
		}
	}
	return out, nil
}

// uploadImages uploads the missing images (missingImages). current holds the current parameters of the stack; it is nil if
// the stack is to be created.
func (w *work) uploadImages(ctx context.Context, current map[string]string) error {
	template, err := hot.Load(w.op.Package, w.op.Flavour.ID)
	if err != nil {
		return err
	}
	images, err := missingImages(ctx, w.op, template, current)
	if err != nil || len(images) == 0 {
		return err
	}
	if err := w.checkFormats(ctx, images); err != nil {
		return err
	}
	uploads, err := readImages(ctx, images)
	if err != nil {
		return err
	}
	for _, u := range uploads {
		w.op.Declare(u.ids[0])
		for _, id := range u.ids {
			if err := w.op.State().Put(ctx, stateKeyOf(w.op.Package, id), ""); err != nil { // tells Terminate to look for images
				return err
			}
		}
	}
	return vnflcm.Each(ctx, parallel, uploads, func(ctx context.Context, u upload) error {
		return vnflcm.Do(ctx, w.op, "upload-image", u.ids[0], func(ctx context.Context) error { return w.uploadImage(ctx, u) })
	})
}

// upload is an image whose file has been read.
type upload struct {
	packageImage
	spec glance.Spec
}

// readImages reads the files and compares their checksums with the VNFD. Files with the same content share one upload.
func readImages(ctx context.Context, images []packageImage) ([]upload, error) {
	all := make([]upload, len(images))
	places := make([]int, len(images))
	for i := range places {
		places[i] = i
	}
	err := vnflcm.Each(ctx, parallel, places, func(ctx context.Context, i int) (err error) {
		all[i].packageImage = images[i]
		all[i].spec, err = images[i].read(ctx)
		return err
	})
	var out []upload
	for _, u := range all {
		if same := slices.IndexFunc(out, func(other upload) bool { return other.spec == u.spec }); same >= 0 {
			out[same].ids = append(out[same].ids, u.ids...)
			continue
		}
		out = append(out, u)
	}
	return out, err
}

// uploadImage finds or creates the image in Glance and records its id.
func (w *work) uploadImage(ctx context.Context, u upload) error {
	images, err := glance.New(w.clients)
	if err != nil {
		return err
	}
	id, err := persist(ctx, w.cfg.Poll, func() (string, error) { return w.imageOf(ctx, images, u) })
	if err != nil {
		return err
	}
	for _, of := range u.ids {
		if err := w.op.State().Put(ctx, stateKeyOf(w.op.Package, of), id); err != nil {
			return err
		}
	}
	return nil
}

// imageOf returns the id of an image with the content: an image that an earlier process has uploaded for the instance, an
// image that another instance uses, or a new one. It deletes incomplete images of interrupted uploads.
func (w *work) imageOf(ctx context.Context, images *glance.Client, u upload) (string, error) {
	tag := glance.UserTag(w.op.InstanceID)
	own, err := images.Of(ctx, tag)
	if err != nil {
		return "", err
	}
	for _, known := range own {
		if known.Spec != u.spec {
			continue
		}
		if known.Holds(u.spec, u.size) && known.Retired == "" {
			return known.ID, nil
		}
		if err := images.Release(ctx, known.ID, tag); err != nil {
			return "", err
		}
	}
	others, err := images.With(ctx, u.spec.Digest)
	if err != nil {
		return "", err
	}
	for _, known := range others {
		if !known.Holds(u.spec, u.size) || known.Retired != "" {
			continue
		}
		if claimed, err := images.Claim(ctx, known.ID, tag); claimed || err != nil {
			return known.ID, err
		}
	}
	return w.newImage(ctx, images, u)
}

// newImage creates an image, uploads its content and checks the result.
func (w *work) newImage(ctx context.Context, images *glance.Client, u upload) (string, error) {
	id, err := images.Create(ctx, u.Name, glance.UserTag(w.op.InstanceID), u.spec)
	if err != nil {
		return "", err
	}
	w.op.Report(ctx, fmt.Sprintf("uploads the image %s: %d bytes", u.Name, u.size))
	err = images.Upload(ctx, id, u.size, func() (io.ReadCloser, error) { return u.pkg.Open(u.file) })
	if err != nil {
		return "", err
	}
	made, err := images.Get(ctx, id)
	if err == nil && (made == nil || !made.Holds(u.spec, u.size)) {
		err = fmt.Errorf("image %s (%s) is not complete in Glance after its upload: %+v", id, u.Name, made)
	}
	return id, err
}

// releaseImages ends the use of all uploaded images by the instance and deletes the images that no other instance uses.
func (w *work) releaseImages(ctx context.Context) error {
	if keys, err := w.op.State().Keys(ctx, imageKey); err != nil || len(keys) == 0 {
		return err
	}
	return vnflcm.Do(ctx, w.op, "remove-images", "", func(ctx context.Context) error { return w.releaseBut(ctx, nil) })
}

// releaseOthers does the same for the images of packages other than op.Package, and forgets them.
func (w *work) releaseOthers(ctx context.Context) error {
	keys, err := w.op.State().Keys(ctx, imageKey)
	if err != nil || len(keys) == 0 {
		return err
	}
	own, err := uploadedImages(ctx, w.op)
	if err == nil {
		err = w.releaseBut(ctx, slices.Collect(maps.Values(own)))
	}
	for _, key := range keys {
		if err == nil && !strings.HasPrefix(key, stateKeyOf(w.op.Package, "")) {
			err = w.op.State().Delete(ctx, key)
		}
	}
	return err
}

// releaseBut ends the use of uploaded images, except of some.
func (w *work) releaseBut(ctx context.Context, kept []string) error {
	images, err := glance.New(w.clients)
	if err != nil {
		return err
	}
	_, err = persist(ctx, w.cfg.Poll, func() (struct{}, error) { return struct{}{}, w.releaseAll(ctx, images, kept) })
	return err
}

func (w *work) releaseAll(ctx context.Context, images *glance.Client, kept []string) error {
	tag := glance.UserTag(w.op.InstanceID)
	used, err := images.Of(ctx, tag)
	if err != nil {
		return err
	}
	used = slices.DeleteFunc(used, func(i glance.Image) bool { return slices.Contains(kept, i.ID) })
	return vnflcm.Each(ctx, parallel, used, func(ctx context.Context, i glance.Image) error {
		err := images.Release(ctx, i.ID, tag)
		if glance.Protected(err) {
			w.op.Log.WarnContext(ctx, "an image is left: it is protected", "image", i.ID, "reason", err)
			return nil
		}
		return err
	})
}

// planImages reports faults of the images that will be uploaded. It returns nil while the grant is pending, because the
// grant may name images. offline is the error with which the VIM could not be asked, or nil.
func (d *Driver) planImages(ctx context.Context, op *vnflcm.Operation, current map[string]string, offline error) error {
	template, err := hot.Load(op.Package, op.Flavour.ID)
	if err != nil || op.GrantPending { // define reports the error
		return nil
	}
	images, faults := missingImages(ctx, op, template, current)
	if offline != nil || len(images) == 0 {
		return faults
	}
	w, err := d.begin(ctx, op)
	if err == nil {
		err = w.checkFormats(ctx, images)
	}
	return errors.Join(faults, err)
}

// checkFormats reports images with formats that Glance does not accept.
func (w *work) checkFormats(ctx context.Context, images []packageImage) error {
	client, err := glance.New(w.clients)
	if err != nil {
		return err
	}
	disk, container, err := client.Formats(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, i := range images {
		for _, format := range []struct {
			property, value string
			allowed         []string
		}{{"disk_format", i.DiskFormat, disk}, {"container_format", i.ContainerFormat, container}} {
			if !slices.Contains(format.allowed, format.value) {
				faults = append(faults, i.fault(format.value, "Glance does not take this %s of the image; it takes %s", format.property, strings.Join(format.allowed, ", ")))
			}
		}
	}
	return errors.Join(faults...)
}
