package sshtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/afero"
)

// procFs is /proc as a user sees it now: stat, cmdline and environ of each
// process, and what tells one start of the host from another. Of the processes
// only that one is there whose folder name is in, if it is.
func (p *processes) procFs(user, name string) afero.Fs {
	p.mu.Lock()
	tasks := slices.Collect(maps.Values(p.all))
	dir, _, _ := strings.Cut(strings.TrimPrefix(name, "/proc/"), "/")
	if pid, err := strconv.Atoi(dir); err == nil {
		tasks = slices.DeleteFunc(tasks, func(t *task) bool { return t.pid != pid })
	}
	files := map[string]string{
		"/proc/uptime":                    fmt.Sprintf("%.2f 0.00\n", time.Since(p.boot).Seconds()),
		"/proc/sys/kernel/random/boot_id": p.bootID + "\n",
		"/proc/stat":                      fmt.Sprintf("btime %d\n", p.boot.Unix()),
	}
	p.mu.Unlock()
	for _, t := range tasks {
		dir := "/proc/" + strconv.Itoa(t.pid)
		files[dir+"/stat"], files[dir+"/cmdline"], files[dir+"/environ"] = t.stat(), t.cmdline(), t.environment()
	}
	now := afero.NewMemMapFs()
	for name, content := range files {
		_ = afero.WriteFile(now, name, []byte(content), 0o444)
	}
	for _, t := range tasks {
		if user != "root" && t.owner() != user {
			_ = now.Chmod("/proc/"+strconv.Itoa(t.pid)+"/environ", 0)
		}
	}
	return now
}
