package sshtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/afero"
)

// procFs returns the current /proc for a user: stat, cmdline and environ of each process, and an id that changes with each
// start of the host. It builds only the file with the given name, or the files below the directory with this name, because
// commands read /proc often and there may be many processes.
func (p *processes) procFs(user, name string) afero.Fs {
	now := afero.NewMemMapFs()
	add := func(file string, content func() string) {
		if within(file, name) {
			_ = afero.WriteFile(now, file, []byte(content()), 0o444)
		}
	}
	p.mu.Lock()
	tasks := slices.Collect(maps.Values(p.all))
	add("/proc/uptime", func() string { return fmt.Sprintf("%.2f 0.00\n", time.Since(p.boot).Seconds()) })
	add("/proc/sys/kernel/random/boot_id", func() string { return p.bootID + "\n" })
	add("/proc/stat", func() string { return fmt.Sprintf("btime %d\n", p.boot.Unix()) })
	p.mu.Unlock()
	for _, t := range tasks {
		dir := "/proc/" + strconv.Itoa(t.pid)
		if !within(name, dir) && !within(dir, name) {
			continue
		}
		add(dir+"/stat", t.stat)
		add(dir+"/cmdline", t.cmdline)
		add(dir+"/environ", t.environment)
		if user != "root" && t.owner() != user {
			_ = now.Chmod(dir+"/environ", 0)
		}
	}
	return now
}
