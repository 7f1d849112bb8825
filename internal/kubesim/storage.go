package kubesim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// volume is a block device that outlives the machine it is attached to.
type volume struct {
	Machine    string `json:"machine,omitempty"`    // the one it is attached to
	Filesystem string `json:"filesystem,omitempty"` // what blkid finds on it
	UUID       string `json:"uuid,omitempty"`       // of the file system: another one after each mkfs
	// Content of the file system while it is not mounted: paths below its root.
	Files map[string][]byte `json:"files,omitempty"`
}

// Volume describes a volume, for tests.
type Volume struct {
	ID, Machine, Filesystem, UUID string
	MountedAt                     string
}

// byID is where udev has the links of virtio disks; their serial numbers are the first 20 characters of the volume id
// (Nova, virt/libvirt; virtio-blk has no room for more).
const byID = "/dev/disk/by-id/virtio-"

// storagePrograms are what disks are set up and exported with.
var storagePrograms = map[string]func(context.Context, *call) error{"blkid": blkid, "mkfs.ext4": mkfsExt4,
	"findmnt": findmnt, "exportfs": exportfs, "mount.nfs": mountNFS}

// AttachVolume attaches a volume to a machine, which must run. It is made, empty, if there is none.
func (w *World) AttachVolume(id, machine string) error {
	w.mu.Lock()
	files := w.files[machine]()
	w.mu.Unlock()
	link := byID + id[:min(20, len(id))]
	if err := errors.Join(files.MkdirAll(path.Dir(link), 0o755), afero.WriteFile(files, link, make([]byte, 512), 0o600)); err != nil {
		return err
	}
	w.change(func() {
		if w.state.Volumes == nil {
			w.state.Volumes = map[string]*volume{}
		}
		if w.state.Volumes[id] == nil {
			w.state.Volumes[id] = &volume{}
		}
		w.state.Volumes[id].Machine = machine
	})
	return nil
}

// RemoveVolume deletes a volume with what is on it.
func (w *World) RemoveVolume(id string) { w.change(func() { delete(w.state.Volumes, id) }) }

// FormatVolume sets the content of a volume as another program would: ext4, xfs; "" empties it. It reports whether the
// volume exists.
func (w *World) FormatVolume(id, filesystem string) (found bool) {
	w.change(func() {
		if v := w.state.Volumes[id]; v != nil {
			v.Filesystem, v.UUID, v.Files, found = filesystem, uuid.NewString(), nil, true
		}
	})
	return found
}

// Volumes lists the volumes by id.
func (w *World) Volumes() []Volume {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Volume
	for _, id := range slices.Sorted(maps.Keys(w.state.Volumes)) {
		v := w.state.Volumes[id]
		shown := Volume{ID: id, Machine: v.Machine, Filesystem: v.Filesystem, UUID: v.UUID}
		if m := w.state.Machines[v.Machine]; m != nil {
			for at, mounted := range m.Mounts {
				if mounted == id {
					shown.MountedAt = at
				}
			}
		}
		out = append(out, shown)
	}
	return out
}

// detach detaches all volumes from a machine that no longer exists. Their content stays.
func (w *World) detach(machine string) {
	if m, files := w.state.Machines[machine], w.files[machine]; m != nil && files != nil {
		for where, id := range m.Mounts {
			if v := w.state.Volumes[id]; v != nil {
				v.Files = filesBelow(files(), where)
			}
		}
	}
	for _, v := range w.state.Volumes {
		if v.Machine == machine {
			v.Machine = ""
		}
	}
}

func filesBelow(files afero.Fs, dir string) map[string][]byte {
	out := map[string][]byte{}
	_ = afero.Walk(files, dir, func(name string, info fs.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return nil //nolint:nilerr // what cannot be read is lost
		}
		if content, err := afero.ReadFile(files, name); err == nil {
			out[strings.TrimPrefix(name, dir)] = content
		}
		return nil
	})
	return out
}

// device finds the volume of the machine that a path is a link to.
func (w *World) device(m *machine, name string) (id string, v *volume) {
	serial, isLink := strings.CutPrefix(name, byID)
	for id, v := range w.state.Volumes {
		if isLink && v.Machine == m.ID && id[:min(20, len(id))] == serial {
			return id, v
		}
	}
	return "", nil
}

// blkid probes a disk. It ends with 2 when there is nothing on it, and also when there is no such disk (blkid(8)).
func blkid(_ context.Context, c *call) error {
	if err := c.Root(); err != nil {
		return program.ExitError{Code: 2, Message: err.Error()}
	}
	if len(c.Args) != 4 || !slices.Equal(c.Args[:3], []string{"-p", "-o", "export"}) {
		return fmt.Errorf("kubesim: blkid %q is not simulated", c.Args)
	}
	return c.on(func(m *machine) error {
		_, v := c.w.device(m, c.Args[3])
		switch {
		case v == nil || v.Filesystem == "":
			return program.ExitError{Code: 2, Message: ""}
		case v.Filesystem == "gpt":
			c.Printf("DEVNAME=%s\nPTUUID=%s\nPTTYPE=gpt\n", c.Args[3], v.UUID)
		default:
			c.Printf("DEVNAME=%s\nUUID=%s\nBLOCK_SIZE=4096\nTYPE=%s\nUSAGE=filesystem\n", c.Args[3], v.UUID, v.Filesystem)
		}
		return nil
	})
}

// mkfsExt4 creates a file system. If it is interrupted there is none: the superblock is written last.
func mkfsExt4(ctx context.Context, c *call) error {
	args, err := c.Flags(c.Args, func(f *pflag.FlagSet) { f.BoolP("quiet", "q", false, "") })
	if err != nil || len(args) != 1 {
		return program.ExitError{Code: 1, Message: "Usage: mkfs.ext4 [options] device"}
	}
	if err := c.Root(); err != nil {
		return err
	}
	if err := c.w.take(ctx); err != nil {
		return err
	}
	return c.on(func(m *machine) error {
		id, v := c.w.device(m, args[0])
		if v == nil {
			return fmt.Errorf("The file %s does not exist and no size was specified.", args[0])
		}
		for _, mounted := range m.Mounts {
			if mounted == id {
				return fmt.Errorf("%s is mounted; will not make a filesystem here!", args[0])
			}
		}
		v.Filesystem, v.UUID, v.Files = "ext4", uuid.NewString(), nil
		return nil
	})
}

// mountUnit does what systemd does with a mount unit.
func (c *call) mountUnit(verb, unit string, now bool) error {
	text, err := afero.ReadFile(c.FS, "/etc/systemd/system/"+unit)
	if err != nil {
		return fmt.Errorf("Failed to %s unit: Unit file %s does not exist.", verb, unit)
	}
	settings := map[string]string{}
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]")
		} else if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			settings[section+"."+key] = value
		}
	}
	switch where, err := unescapeUnit(strings.TrimSuffix(unit, ".mount")); {
	case err != nil || settings["Mount.Where"] != where:
		return fmt.Errorf("%s: Where= setting doesn't match unit name. Refusing.", unit)
	case verb != "enable" || !now:
		return fmt.Errorf("kubesim: systemctl %s of a mount unit is not simulated", verb)
	case settings["Install.WantedBy"] == "":
		return errors.New("The unit files have no installation config")
	}
	if strings.Contains(string(text), "%") {
		return fmt.Errorf("kubesim: specifiers in %s are not simulated", unit)
	}
	return c.mount(settings["Mount.What"], settings["Mount.Where"], settings["Mount.Type"])
}

func (c *call) mount(what, where, kind string) error {
	var content map[string][]byte
	err := c.on(func(m *machine) error {
		if m.Mounts[where] != "" {
			return nil // the unit is active already, whatever is mounted
		}
		id, v := c.w.device(m, what)
		switch {
		case v == nil:
			return errors.New("A dependency job for the mount unit failed: the device has not appeared")
		case v.Filesystem != kind:
			return fmt.Errorf("mount: %s: wrong fs type, bad option, bad superblock on %s.", where, what)
		}
		if m.Mounts == nil {
			m.Mounts = map[string]string{}
		}
		m.Mounts[where], content = id, v.Files
		return nil
	})
	if err != nil {
		return err
	}
	for name, text := range content {
		if err := c.Write(where+name, string(text), 0o644); err != nil {
			return err
		}
	}
	return c.FS.MkdirAll(where, 0o755)
}

// unescapeUnit is the path that systemd takes the name of a unit for (systemd.unit(5), "String escaping").
func unescapeUnit(name string) (string, error) {
	var out strings.Builder
	out.WriteByte('/')
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '-':
			out.WriteByte('/')
		case name[i] == '\\' && strings.HasPrefix(name[i:], `\x`) && len(name) >= i+4:
			code, err := strconv.ParseUint(name[i+2:i+4], 16, 8)
			if err != nil {
				return "", err
			}
			out.WriteByte(byte(code))
			i += 3
		default:
			out.WriteByte(name[i])
		}
	}
	return out.String(), nil
}

// findmnt answers whether that device is mounted there.
func findmnt(_ context.Context, c *call) error {
	var source, point string
	args, err := c.Flags(c.Args, func(f *pflag.FlagSet) {
		f.StringVar(&source, "source", "", "")
		f.StringVar(&point, "mountpoint", "", "")
	})
	if err != nil || len(args) > 0 || source == "" || point == "" {
		return fmt.Errorf("kubesim: findmnt %q is not simulated", c.Args)
	}
	return c.on(func(m *machine) error {
		id, v := c.w.device(m, source)
		if v == nil || m.Mounts[point] != id {
			return program.ErrSilent
		}
		c.Printf("%s %s %s rw,relatime\n", point, source, v.Filesystem)
		return nil
	})
}
