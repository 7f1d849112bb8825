package kubesim_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/kubesim"
)

const volumeID = "0b5e2f0c-9d57-4f0b-8f6a-0123456789ab"

// $DISK is the link of the volume, $UNIT puts a unit there that mounts it at /volume-1.
const (
	diskLink = "/dev/disk/by-id/virtio-0b5e2f0c-9d57-4f0b-8"
	unitFile = `printf '[Mount]\nWhat=` + diskLink + `\nWhere=/volume-1\nType=ext4\n[Install]\nWantedBy=local-fs.target\n' | sudo tee '/etc/systemd/system/volume\x2d1.mount' >/dev/null`
	mountIt  = `sudo systemctl enable --now 'volume\x2d1.mount'`
	server   = "sudo apt-get update && sudo apt-get install -y nfs-kernel-server"
	export   = `sudo tee /etc/exports.d/a.exports >/dev/null && sudo exportfs -ra`
)

func (s *site) disk() {
	s.t.Helper()
	s.must("m1", "sudo mkdir -p /etc/systemd/system /etc/exports.d")
	if err := s.world.AttachVolume(volumeID, "m1"); err != nil {
		s.t.Fatal(err)
	}
}

// TestStorageStrictness: each wrong thing fails as the real one does.
func TestStorageStrictness(t *testing.T) {
	t.Parallel()
	replace := strings.NewReplacer("$DISK", diskLink, "$UNIT", unitFile, "$MOUNT", mountIt, "$SERVER", server, "$EXPORT", export)
	for name, c := range map[string]struct{ before, text, want string }{
		"blkid, nothing on it":    {"true", "sudo blkid -p -o export $DISK", ""},
		"blkid, no disk":          {"true", "sudo blkid -p -o export /dev/disk/by-id/virtio-other", ""},
		"blkid, other arguments":  {"true", "sudo blkid $DISK", "not simulated"},
		"blkid as a user":         {"true", "blkid -p -o export $DISK", "are you root"},
		"mkfs, no disk":           {"true", "sudo mkfs.ext4 -q /dev/vdb", "does not exist"},
		"mkfs, mounted":           {"sudo mkfs.ext4 -q $DISK && $UNIT && $MOUNT", "sudo mkfs.ext4 -q $DISK", "is mounted"},
		"mkfs as a user":          {"true", "mkfs.ext4 -q $DISK", "are you root"},
		"mount, no file system":   {"$UNIT", "$MOUNT", "wrong fs type"},
		"mount, no unit":          {"true", "$MOUNT", "does not exist"},
		"mount, another place":    {`$UNIT; sudo mv '/etc/systemd/system/volume\x2d1.mount' /etc/systemd/system/volume-1.mount`, "sudo systemctl enable --now volume-1.mount", "doesn't match unit name"},
		"mount, no disk":          {strings.ReplaceAll(unitFile, "virtio-0", "virtio-1"), "$MOUNT", "has not appeared"},
		"findmnt, not mounted":    {"true", "sudo findmnt --source $DISK --mountpoint /volume-1", ""},
		"findmnt elsewhere":       {"sudo mkfs.ext4 -q $DISK && $UNIT && $MOUNT", "sudo findmnt --source $DISK --mountpoint /volume", ""},
		"exportfs, not installed": {"true", "sudo exportfs", "command not found"},
		"exportfs, no directory":  {"$SERVER", "echo '/a 10.0.0.0/8(rw)' | $EXPORT", "Failed to stat /a"},
		"exportfs, bad option":    {"$SERVER", "echo '/etc 10.0.0.0/8(rw,squash)' | $EXPORT", "unknown keyword"},
		"exportfs, bad client":    {"$SERVER", "echo '/etc 10.0.0.1/8(rw)' | $EXPORT", "non-inet addr"},
		"exportfs, no client":     {"$SERVER", "echo /etc | $EXPORT", "No host name given"},
		"mount.nfs uninstalled":   {"true", "mount.nfs -V", "command not found"},
		"nfs-server uninstalled":  {"true", "sudo systemctl enable --now nfs-server", "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "m1")
			s.disk()
			s.must("m1", replace.Replace(c.before))
			before := s.world.Volumes()
			out, err := s.run("m1", "("+replace.Replace(c.text)+") 2>&1")
			if err == nil || !strings.Contains(out, c.want) {
				t.Errorf("%v: %s", err, out)
			}
			if diff := cmp.Diff(before, s.world.Volumes()); diff != "" {
				t.Errorf("the volumes have changed:\n%s", diff)
			}
		})
	}
}

// TestVolumeOutlivesMachine: what is on a volume is there on the next machine, mounted again only when that says so;
// what is to be mounted for its export is not exported before.
func TestVolumeOutlivesMachine(t *testing.T) {
	t.Parallel()
	s := newSite(t, "m1")
	s.disk()
	s.must("m1", server)
	s.must("m1", "sudo mkfs.ext4 -q "+diskLink)
	exports := func(want string) {
		t.Helper()
		s.must("m1", "sudo mkdir -p /volume-1/a && echo '/volume-1/a 10.0.0.0/8(rw,mp=/volume-1)' | "+export)
		if got := s.must("m1", "sudo exportfs"); got != want {
			t.Errorf("%q", got)
		}
	}
	exports("")
	s.must("m1", unitFile+" && "+mountIt)
	exports("/volume-1/a 10.0.0.0/8\n")
	was := s.world.Volumes()[0]
	s.world.Remove("m1")
	if diff := cmp.Diff([]kubesim.Volume{{ID: volumeID, Filesystem: "ext4", UUID: was.UUID}}, s.world.Volumes()); diff != "" {
		t.Error(diff)
	}
	s.start("m1")
	s.disk()
	if diff := cmp.Diff([]kubesim.Volume{{ID: volumeID, Machine: "m1", Filesystem: "ext4", UUID: was.UUID}}, s.world.Volumes()); diff != "" {
		t.Error(diff)
	}
	if out := s.must("m1", "sudo blkid -p -o export "+diskLink); !strings.Contains(out, "TYPE=ext4\n") || !strings.Contains(out, was.UUID) {
		t.Errorf("%s", out)
	}
	s.world.RemoveVolume(volumeID)
	if left := s.world.Volumes(); len(left) != 0 {
		t.Errorf("%+v", left)
	}
}
