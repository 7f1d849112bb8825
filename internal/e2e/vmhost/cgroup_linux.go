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

// SystemdMissing says why no host with systemd can be made here, nil when one can.
func SystemdMissing() error {
	root, err := hierarchy()
	if err != nil {
		return err
	}
	group, err := os.MkdirTemp(root, "vnfkit-e2e-*")
	if err != nil {
		return fmt.Errorf("vmhost: hosts with systemd need control groups of their own: %w", err)
	}
	return os.Remove(group)
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
	group := filepath.Join(root, h.network.groups, filepath.Base(h.dir))
	return group, os.MkdirAll(group, 0o755) //nolint:gosec // as every other one
}

// controlGroups makes a control group in every hierarchy of the machine: on one with version 1 a container
// runtime uses them all.
func (h *Host) controlGroups() ([]string, error) {
	roots, err := hierarchies()
	var made []string
	for _, root := range roots {
		group := filepath.Join(root, h.network.groups, filepath.Base(h.dir))
		made = append(made, group)
		err = errors.Join(err, os.MkdirAll(group, 0o755), //nolint:gosec // as every other one
			inheritCPUs(filepath.Dir(group)), inheritCPUs(group))
	}
	return made, err
}

// inheritCPUs lets a new group of version 1 have the processors and memory of the one above: it begins with none.
func inheritCPUs(group string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		above, err := os.ReadFile(filepath.Join(filepath.Dir(group), name)) //nolint:gosec // of the kernel
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(group, name), above, 0o644) //nolint:gosec // of the kernel
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeGroups removes a control group without processes and those below it, in every hierarchy.
func removeGroups(group string) error {
	roots, err := hierarchies()
	var dirs []string
	for _, root := range roots {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(root, group), func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, name)
			}
			return nil //nolint:nilerr // it may be going
		}))
	}
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
	found, err := mounted("cgroup2")
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("vmhost: hosts with systemd need cgroup v2: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// hierarchies returns where the machine has control groups of either version mounted.
func hierarchies() ([]string, error) { return mounted("cgroup", "cgroup2") }

func mounted(kinds ...string) (found []string, err error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && slices.Contains(kinds, f[2]) {
			found = append(found, f[1])
		}
	}
	return found, err
}
