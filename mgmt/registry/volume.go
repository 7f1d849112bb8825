package registry

import (
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// volumeParam is where the images are. They survive a heal on a volume of the VNF, or on another disk that the VIM
// attaches to the new machine.
type volumeParam struct {
	Path       string `json:"path"`               // default defaultVolume
	ResourceID string `json:"volume_resource_id"` // name of the volume in the VNFD or template, as in Tacker's storage_server
	Device     string `json:"device"`             // instead: a block device
}

// outlives reports whether the images are on more than the machine's own disk.
func (v volumeParam) outlives() bool { return v.ResourceID+v.Device != "" }

// pathForm excludes characters that are special in Docker's --volume, in unit files and in shells, and names that begin
// with a dot or a hyphen.
var pathForm = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)

// deviceForm allows the names that udev makes, too.
var deviceForm = regexp.MustCompile(`^/dev(/[A-Za-z0-9_][A-Za-z0-9._:-]*)+$`)

// maxUnitName is what systemd takes (UNIT_NAME_MAX).
const maxUnitName = 255

func (c *checker) volume(v volumeParam) {
	top, _, below := strings.Cut(strings.TrimPrefix(v.Path, "/"), "/")
	switch {
	case !pathForm.MatchString(v.Path), path.Clean(v.Path) != v.Path:
		c.fault("volume.path", v.Path, "must be an absolute path of letters, digits, -, _ and .")
	case systemDirs[top] && !below, ownDirs[top]:
		c.fault("volume.path", v.Path, "belongs to the system: give a separate directory, such as "+defaultVolume)
	case len(linux.MountUnit(v.Path)) > maxUnitName:
		c.fault("volume.path", v.Path, "is too long for the name of a systemd unit, where a - takes four characters")
	}
	if v.Device != "" && !deviceForm.MatchString(v.Device) {
		c.fault("volume.device", v.Device, "must be a block device, such as /dev/vdb or /dev/disk/by-id/virtio-0a1b2c3d")
	}
	if v.Device != "" && v.ResourceID != "" {
		c.fault("volume.device", v.Device, "cannot be combined with volume_resource_id: give one of them")
	}
}

// systemDirs are directories below / that must not contain the images themselves. ownDirs must not contain them in a
// subdirectory either (Filesystem Hierarchy Standard 3.0, 3.2).
var (
	systemDirs = map[string]bool{"home": true, "media": true, "mnt": true, "opt": true, "srv": true, "tmp": true, "var": true}
	ownDirs    = map[string]bool{"bin": true, "boot": true, "dev": true, "etc": true, "lib": true, "lib32": true, "lib64": true, "libx32": true,
		"proc": true, "root": true, "run": true, "sbin": true, "sys": true, "usr": true}
)

// prepareVolume makes the directory, and mounts the disk there.
func (s *site) prepareVolume(ctx context.Context) error {
	v := s.p.Volume
	if err := s.machine.Run(ctx, "mkdir", "-p", v.Path); err != nil {
		return err
	}
	device := v.Device
	if v.ResourceID != "" {
		found, err := mgmt.VolumeDevice(s.op, s.node.VNFC, v.ResourceID)
		if err != nil {
			return &vnflcm.ParamError{Path: paramPath + ".volume.volume_resource_id", Value: v.ResourceID, Reason: err.Error()}
		}
		device = found
	}
	if device == "" {
		return nil
	}
	if err := s.machine.Mount(ctx, device, v.Path); err != nil {
		return err
	}
	// Otherwise, if the disk is missing after a reboot, the registry would start empty on the disk of the machine.
	if err := s.machine.Write(ctx, volumeFile, []byte("[Unit]\nRequiresMountsFor="+v.Path+"\n"), 0o644); err != nil {
		return err
	}
	return s.machine.Run(ctx, "systemctl", "daemon-reload")
}

// volumeFile has Docker wait for the volume when the machine starts (systemd.unit(5)).
const volumeFile = "/etc/systemd/system/docker.service.d/50-vnfkit-volume.conf"
