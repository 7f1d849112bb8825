package vmhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Hosts share the kernel, and so the limit of inotify instances of the user root, by default 128. systemd, containerd and a
// kubelet use about ten on each host. A kubelet without one runs, but never registers its node.
const (
	inotifyLimit = "/proc/sys/fs/inotify/max_user_instances"
	inotifyNeed  = 4096
	// inotifyBefore is the file with the limit before the first network.
	inotifyBefore = "/run/lock/vnfkit-e2e-inotify"
)

// raiseInotify raises the limit for the hosts of all networks.
func raiseInotify() error {
	old, err := os.ReadFile(inotifyLimit)
	if err != nil {
		return err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(old)))
	if err != nil {
		return fmt.Errorf("%s: %w", inotifyLimit, err)
	}
	if limit >= inotifyNeed {
		return nil
	}
	if err := os.WriteFile(inotifyBefore, old, 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(inotifyLimit, []byte(strconv.Itoa(inotifyNeed)), 0o644); err != nil { //nolint:gosec // of the kernel
		return errors.Join(errors.New("vmhost: the hosts need more inotify instances"), err)
	}
	return nil
}

// restoreInotify restores the limit if no process has a network.
func restoreInotify() error {
	for number := range networks {
		lock := newNetwork(number).lock
		if locked, err := lock.TryLock(); !locked || err != nil {
			return err
		}
		defer func() { _ = lock.Unlock() }()
	}
	before, err := os.ReadFile(inotifyBefore)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the limit was high enough
	}
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(inotifyLimit, before, 0o644), os.Remove(inotifyBefore)) //nolint:gosec // of the kernel
}
