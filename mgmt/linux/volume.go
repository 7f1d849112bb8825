package linux

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/sshexec"
)

const (
	// volumeLock is held while a file system is created: the command of a process that died continues on the machine.
	volumeLock = "/run/vnfkit-volume.lock"
	// deviceWait bounds how long an attached volume takes to show up.
	deviceWait = 2 * time.Minute
)

// ErrForeignVolume reports a disk whose content is not a usable file system, or a directory where another disk is
// mounted. Mount does not change them.
var ErrForeignVolume = errors.New("is in use for something else, and left as it is")

// Mount mounts a disk, such as "/dev/vdb", at a directory, now and after a reboot, by a unit of systemd. It creates an
// ext4 file system only on an empty disk. It waits up to two minutes for a disk that is being attached. The paths must
// be clean. The error wraps ErrForeignVolume if the disk or the directory is used for another purpose.
func (m Machine) Mount(ctx context.Context, device, dir string) error {
	if err := m.awaitDevice(ctx, device); err != nil {
		return err
	}
	if err := m.Run(ctx, "flock", volumeLock, "true"); err != nil {
		return err
	}
	holds, err := m.probeDevice(ctx, device)
	switch {
	case err != nil:
		return err
	case holds == "":
		if err := m.Run(ctx, "flock", volumeLock, "mkfs.ext4", "-q", device); err != nil {
			return err
		}
	case holds != "ext4":
		return fmt.Errorf("linux: %s of %s holds %s, no ext4: it %w", device, m.SSH.Name(), holds, ErrForeignVolume)
	}
	unit := MountUnit(dir)
	if err := m.Write(ctx, "/etc/systemd/system/"+unit, mountUnitFile(device, dir), 0o644); err != nil {
		return err
	}
	if err := m.Run(ctx, "systemctl", "enable", "--now", unit); err != nil {
		return err
	}
	// systemd reports success for any disk that is mounted there.
	ours, err := m.Succeeds(ctx, "findmnt", "--source", device, "--mountpoint", dir)
	if err == nil && !ours {
		err = fmt.Errorf("linux: something else than %s is mounted at %s of %s: the directory %w", device, dir, m.SSH.Name(), ErrForeignVolume)
	}
	return err
}

// awaitDevice waits until the disk exists and can be read: blkid also reports no content for a disk that it cannot
// read.
func (m Machine) awaitDevice(ctx context.Context, device string) error {
	policy := retry.Policy{First: 200 * time.Millisecond, Most: 5 * time.Second, Within: deviceWait, For: "the disk " + device}
	err := policy.Do(ctx, func() error {
		return m.Run(ctx, "dd", "if="+device, "of=/dev/null", "bs=1M", "count=1", "status=none")
	})
	if err != nil {
		return fmt.Errorf("linux: waiting for the disk %s: %w", device, err)
	}
	return nil
}

// probeDevice returns the content of a disk: the type of its file system, other content, or "" for none. blkid ends
// with 2 if it finds no content, silently, and also if it cannot open the disk (blkid(8)).
func (m Machine) probeDevice(ctx context.Context, device string) (string, error) {
	out, err := m.Output(ctx, sshexec.Command{Argv: []string{"blkid", "-p", "-o", "export", device}})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && exit.Code == 2 && !strings.Contains(exit.Stderr, "blkid: ") && len(out) == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	kind := "something"
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "TYPE":
			return value, nil
		case "PTTYPE":
			kind = "a table of partitions (" + value + ")"
		}
	}
	return kind, nil
}

// MountUnit returns the name of the unit that mounts a disk at a directory whose name has only letters, digits, _, -
// and . (systemd.unit(5), "String escaping": of these the hyphen is escaped).
func MountUnit(dir string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(path.Clean(dir), "/"), "-", `\x2d`)
	return strings.ReplaceAll(name, "/", "-") + ".mount"
}

// mountUnitFile renders the unit (systemd.mount(5)).
func mountUnitFile(device, dir string) []byte {
	return fmt.Appendf(nil, `# Written by vnfkit: changes are lost.
[Unit]
Description=Volume of the VNF

[Mount]
What=%s
Where=%s
Type=ext4

[Install]
WantedBy=local-fs.target
`, device, dir)
}
