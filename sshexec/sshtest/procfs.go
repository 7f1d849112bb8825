package sshtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/afero"
)

// procFs is /proc as it is now: stat and cmdline of each process, and what
// tells one start of the host from another.
func (p *processes) procFs() afero.Fs {
	p.mu.Lock()
	tasks := slices.Collect(maps.Values(p.all))
	files := map[string]string{
		"/proc/uptime":                    fmt.Sprintf("%.2f 0.00\n", time.Since(p.boot).Seconds()),
		"/proc/sys/kernel/random/boot_id": p.bootID + "\n",
		"/proc/stat":                      fmt.Sprintf("btime %d\n", p.boot.Unix()),
	}
	p.mu.Unlock()
	for _, t := range tasks {
		dir := "/proc/" + strconv.Itoa(t.pid)
		files[dir+"/stat"], files[dir+"/cmdline"] = t.stat(), t.cmdline()
	}
	now := afero.NewMemMapFs()
	for name, content := range files {
		_ = afero.WriteFile(now, name, []byte(content), 0o444)
	}
	return now
}
