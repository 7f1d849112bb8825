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

// SystemdMissing returns the reason why this machine cannot run a host with systemd, or nil if it can.
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

// controlGroup creates the control group of a host with systemd and returns its path, or "" for other hosts. systemd needs
// the group to track the processes of services.
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

// controlGroups creates a control group in every hierarchy of the machine: with cgroup version 1 a container runtime uses
// all hierarchies.
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

// inheritCPUs copies the processors and memory nodes of the parent to a new group of version 1, which begins without any.
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

// removeGroups removes a control group without processes, and the groups below it, in every hierarchy.
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

// remove removes one control group. It repeats the attempt, because the group is busy for a moment after its last process
// has ended.
func remove(dir string) (err error) {
	for range 100 {
		if err = os.Remove(dir); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// hierarchy returns the mount point of cgroup v2, alone or beside v1.
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

// hierarchies returns the mount points of control groups of both versions.
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
