package vmhost

import (
	"context"
	"errors"
	"os"
	"strings"
)

// Disk creates an empty block device of size bytes for Spec.Devices, and returns its name on the machine. Network.Close
// removes the device.
func (n *Network) Disk(ctx context.Context, size int64) (device string, err error) {
	file, err := os.CreateTemp(n.stateDir, "disk-*")
	if err != nil {
		return "", err
	}
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		return "", err
	}
	return run(ctx, "losetup", "--find", "--show", file.Name())
}

// detachDisks detaches the loop devices that Disk has created, also in a killed run.
func (n *Network) detachDisks(ctx context.Context) error {
	all, err := run(ctx, "losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE")
	errs := []error{err}
	for line := range strings.Lines(all) {
		device, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(strings.TrimSpace(file), n.stateDir+"/") {
			_, err := run(ctx, "losetup", "--detach", device)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
