package mgmt

import (
	"errors"
	"regexp"
	"slices"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Errors of VolumeDevice.
var (
	// ErrNoVolume reports that no volume of the VNF has this descriptor. Correct the name in the request: it must be the
	// volume's name in the VNFD or its resource in the template.
	ErrNoVolume = errors.New("the VNF has no volume of that name")
	// ErrSeveralVolumes reports that several volumes of the VNF have this descriptor, and not exactly one of them is
	// attached to the machine.
	ErrSeveralVolumes = errors.New("the VNF has several volumes of that name")
	// ErrVolumeID reports that the VIM's id of the volume cannot be a part of the name of a disk.
	ErrVolumeID = errors.New("the VIM gives this volume no id that a disk could be found by")
)

// volumeIDForm is what ids of volumes are made of; they become part of paths.
var volumeIDForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*$`)

// VolumeDevice returns the device of a volume of the VNF on the machine that it is attached to. The descriptor is the
// name of the volume in the VNFD, or that of its resource in the template. Nova sets the id of the volume as serial
// number of the disk, of which virtio-blk stores 20 characters; the names of disks (vdb) do not identify the volume.
func VolumeDevice(op *vnflcm.Operation, v vnflcm.VNFC, descriptor string) (string, error) {
	var found, attached []vnflcm.Storage
	for _, s := range op.Storages {
		if s.Descriptor != descriptor {
			continue
		}
		found = append(found, s)
		if slices.Contains(v.StorageIDs, s.ID) {
			attached = append(attached, s)
		}
	}
	if len(attached) > 0 { // a VNFD need not name the VDU of a volume
		found = attached
	}
	switch {
	case len(found) == 0:
		return "", ErrNoVolume
	case len(found) > 1:
		return "", ErrSeveralVolumes
	case !volumeIDForm.MatchString(found[0].ResourceID):
		return "", ErrVolumeID
	}
	id := found[0].ResourceID
	return "/dev/disk/by-id/virtio-" + id[:min(20, len(id))], nil
}
