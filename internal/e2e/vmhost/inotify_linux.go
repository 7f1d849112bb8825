package vmhost

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Hosts share the kernel, and with it the number of inotify instances that root may have: by default 128. systemd,
// containerd and a kubelet take some ten on each host; a kubelet that gets none runs, but never registers its node.
const (
	inotifyLimit = "/proc/sys/fs/inotify/max_user_instances"
	inotifyNeed  = 4096
)

// raiseInotify lets the hosts have what they need, and returns what to call to have it as it was.
func raiseInotify() (restore func() error, err error) {
	old, err := os.ReadFile(inotifyLimit)
	if err != nil {
		return nil, err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(old)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inotifyLimit, err)
	}
	if limit >= inotifyNeed {
		return func() error { return nil }, nil
	}
	if err := os.WriteFile(inotifyLimit, []byte(strconv.Itoa(inotifyNeed)), 0o644); err != nil {
		return nil, errors.Join(errors.New("vmhost: the hosts need more inotify instances"), err)
	}
	return func() error { return os.WriteFile(inotifyLimit, old, 0o644) }, nil
}
