package e2e_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// checkFiles checks the files of every host: /etc/hosts has all hosts, and swap stays off. Temporary files may only be left
// if a process was killed while it wrote a file.
func (l *lab) checkFiles(undisturbed bool) {
	l.t.Helper()
	for _, id := range l.cloud.IDs() {
		host := l.cloud.Host(id)
		hosts := l.read(id, "/etc/hosts")
		for _, n := range l.kube.Nodes() {
			if !strings.Contains(hosts, fmt.Sprintf("\n%s ", n.Address)) {
				l.t.Errorf("%s: /etc/hosts does not know %s:\n%s", host.Name, n.Name, hosts)
			}
		}
		if begin := "127.0.0.1 localhost\n" + host.Address.String() + " " + host.Name + "\n"; !strings.HasPrefix(hosts, begin) {
			l.t.Errorf("%s: what was in /etc/hosts is changed:\n%s", host.Name, hosts)
		}
		if n := strings.Count(hosts, "# BEGIN vnfkit\n"); n != 1 {
			l.t.Errorf("%s: %d blocks in /etc/hosts", host.Name, n)
		}
		for line := range strings.Lines(l.read(id, "/etc/fstab")) {
			if strings.Contains(line, "swap") && !strings.HasPrefix(line, "#") {
				l.t.Errorf("%s: swap comes back: %s", host.Name, line)
			}
		}
		for _, dir := range []string{"/etc", "/tmp", "/home/" + user} {
			if undisturbed {
				l.wantNoRemains(id, dir)
			}
		}
	}
}

func (l *lab) read(id, name string) string {
	l.t.Helper()
	data, err := afero.ReadFile(l.cloud.Host(id).FS(), name)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(data)
}

func (l *lab) wantNoRemains(id, dir string) {
	l.t.Helper()
	host := l.cloud.Host(id)
	err := afero.Walk(host.FS(), dir, func(name string, _ fs.FileInfo, err error) error {
		if strings.Contains(name, ".sshexec-") {
			l.t.Errorf("%s: %s is left", host.Name, name)
		}
		return err
	})
	if err != nil {
		l.t.Error(err)
	}
}

// checkSecrets looks for the password where it must not be: on command lines, in the environment of programs,
// in logs, events and records.
func (l *lab) checkSecrets() {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	where := map[string]string{"the log": l.log.String(), "the events": fmt.Sprintf("%+v", l.events)}
	for i, r := range l.records {
		where[fmt.Sprintf("program %d, %s", i, r.Argv[0])] = strings.Join(slices.Concat(r.Argv, r.Env), "\n")
	}
	for _, kind := range []string{"instance", "operation", "step", "state", "vim"} {
		list, err := l.store.List(l.t.Context(), store.Query{Kind: kind})
		if err != nil {
			l.t.Fatal(err)
		}
		for _, r := range list {
			where["record "+kind+" "+r.ID] = string(r.Body)
		}
	}
	if len(l.records) == 0 || l.log.Len() == 0 || len(l.events) == 0 {
		l.t.Error("nothing was recorded")
	}
	for place, text := range where {
		if strings.Contains(text, "ca'na") || strings.Contains(text, `ry$(id)`) {
			l.t.Errorf("the password is in %s", place)
		}
	}
}
