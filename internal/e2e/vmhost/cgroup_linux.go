package vmhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// groups is the control group, below that of the machine, of all hosts that run systemd.
const groups = "vnfkit-e2e"

// SystemdMissing says why no host with systemd can be made here, nil when one can.
func SystemdMissing() error {
	root, err := hierarchy()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, groups), 0o755); err != nil { //nolint:gosec // as every other one
		return fmt.Errorf("vmhost: hosts with systemd need control groups of their own: %w", err)
	}
	return nil
}

// controlGroup makes the control group of a host that runs systemd, which tracks the processes of a service by
// it, and returns where it is. Other hosts have none.
func (h *Host) controlGroup() (string, error) {
	if !h.Systemd {
		return "", nil
	}
	root, err := hierarchy()
	if err != nil {
		return "", err
	}
	group := filepath.Join(root, groups, filepath.Base(h.dir))
	return group, os.MkdirAll(group, 0o755) //nolint:gosec // as every other one
}

func (h *Host) removeControlGroup() error {
	if !h.Systemd {
		return nil
	}
	return removeGroups(filepath.Join(groups, filepath.Base(h.dir)))
}

// removeGroups removes a control group without processes and those below it.
func removeGroups(group string) error {
	root, err := hierarchy()
	if err != nil {
		return nil //nolint:nilerr // then there are none
	}
	var dirs []string
	err = filepath.WalkDir(filepath.Join(root, group), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, name)
		}
		return nil //nolint:nilerr // it may be going
	})
	for _, dir := range slices.Backward(dirs) {
		if failed := remove(dir); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// remove removes one control group. It is busy until the kernel has done away with the last process, which
// takes a moment after that has ended.
func remove(dir string) (err error) {
	for range 100 {
		if err = os.Remove(dir); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// hierarchy returns where the machine has cgroup v2 mounted: alone, or beside v1.
func hierarchy() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("vmhost: hosts with systemd need cgroup v2: %w", errors.ErrUnsupported)
}
