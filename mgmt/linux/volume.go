package linux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/sshexec"
)

const (
	// volumeLock is held while a file system is made: what a process has begun that died runs on there.
	volumeLock = "/run/vnfkit-volume.lock"
	// deviceWait bounds how long an attached volume takes to show up.
	deviceWait = 2 * time.Minute
)

// ErrForeignVolume is the error of a disk with something else on it than a file system that could be used, or of a
// directory where something else is mounted. It is left as it is.
var ErrForeignVolume = errors.New("is in use for something else, and left as it is")

// Mount mounts a disk, such as "/dev/vdb", at a directory, now and after a reboot, by a unit of systemd. An ext4 file
// system is made only where there is nothing at all. It waits up to two minutes for a disk that is being attached. The
// paths must be clean. The error wraps ErrForeignVolume when the disk, or the directory, is somebody else's.
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
	// systemd is content with whatever is mounted there.
	ours, err := m.Holds(ctx, "findmnt", "--source", device, "--mountpoint", dir)
	if err == nil && !ours {
		err = fmt.Errorf("linux: something else than %s is mounted at %s of %s: the directory %w", device, dir, m.SSH.Name(), ErrForeignVolume)
	}
	return err
}

// awaitDevice waits until the disk is there and can be read: blkid finds nothing on a disk that cannot be read, too.
func (m Machine) awaitDevice(ctx context.Context, device string) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 200*time.Millisecond, 5*time.Second
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		return struct{}{}, m.Run(ctx, "dd", "if="+device, "of=/dev/null", "bs=1M", "count=1", "status=none")
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(deviceWait))
	if err != nil {
		return fmt.Errorf("linux: waiting for the disk %s: %w", device, err)
	}
	return nil
}

// probeDevice says what is on a disk: a type of file system, something else, or "" for nothing. blkid ends with 2 when
// it finds nothing, silently, and also when it cannot open the disk (blkid(8)).
func (m Machine) probeDevice(ctx context.Context, device string) (string, error) {
	var out bytes.Buffer
	err := m.SSH.Exec(ctx, sshexec.Command{Argv: []string{"blkid", "-p", "-o", "export", device}, Root: true, Stdout: &out})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && exit.Code == 2 && !strings.Contains(exit.Stderr, "blkid: ") && out.Len() == 0 {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	kind := "something"
	for line := range strings.Lines(out.String()) {
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

// MountUnit is the name of the unit that mounts something at a directory whose name has letters, digits, _, - and .
// only (systemd.unit(5), "String escaping": of these the hyphen is escaped).
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
