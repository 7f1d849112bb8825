package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/sshexec"
)

// program is the name of haproxy's processes.
const program = "haproxy"

// listener is a process that listens at a port of the machine.
type listener struct {
	port    int
	program string
	pid     string
}

type listeners []listener

// processForm finds the processes in a line of ss -p: users:(("haproxy",pid=12,fd=6),...).
var processForm = regexp.MustCompile(`\("((?:[^"\\]|\\.)*)",pid=(\d+),fd=\d+\)`)

// listeners lists the listening processes (ss(8)).
func (b *Balancer) listeners(ctx context.Context) (listeners, error) {
	out, err := b.machine.Output(ctx, sshexec.Command{Argv: []string{"ss", "-Htlnp"}})
	return parseListeners(string(out)), err
}

// parseListeners reads State, Recv-Q, Send-Q, Local Address:Port, Peer Address:Port and the processes.
func parseListeners(text string) (out listeners) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		port, err := strconv.Atoi(fields[3][strings.LastIndexByte(fields[3], ':')+1:])
		if err != nil {
			continue
		}
		processes := processForm.FindAllStringSubmatch(line, -1)
		if len(processes) == 0 {
			out = append(out, listener{port: port, program: "the kernel"}) // in-kernel servers such as NFS
		}
		for _, p := range processes {
			out = append(out, listener{port: port, program: p[1], pid: p[2]})
		}
	}
	return out
}

// foreign refuses ports that other programs use: "haproxy -c" does not check that.
func (l listeners) foreign(parts map[string]Part) error {
	var faults []error
	for _, owner := range slices.Sorted(maps.Keys(parts)) {
		for _, f := range parts[owner].Frontends {
			i := slices.IndexFunc(l, func(l listener) bool { return l.port == f.Port && l.program != program })
			if i >= 0 {
				faults = append(faults, &PortError{Port: f.Port, Owner: owner, Taken: strconv.Quote(l[i].program) + " on the machine", Remedy: "stop that, or choose another port"})
			}
		}
	}
	return errors.Join(faults...)
}

// serves returns what is missing until haproxy serves the parts in a process that did not exist before: "" if nothing
// is missing.
func (l listeners) serves(parts map[string]Part, before listeners) string {
	old := map[string]bool{}
	for _, p := range before {
		old[p.pid] = p.program == program
	}
	served := map[int]bool{}
	for _, p := range l {
		if p.program != program {
			continue
		}
		if old[p.pid] {
			return "the old configuration is still in use"
		}
		served[p.port] = true
	}
	for _, owner := range slices.Sorted(maps.Keys(parts)) {
		for _, f := range parts[owner].Frontends {
			if !served[f.Port] {
				return fmt.Sprintf("no process listens at port %d", f.Port)
			}
		}
	}
	return ""
}

// takeOver bounds the time until a new worker has the ports and the old worker has closed them.
const takeOver = 30 * time.Second

// reload makes haproxy load a new configuration, or starts haproxy, and waits until the configuration is in use.
// "systemctl reload" does not wait (haproxy.service of Debian and Ubuntu only signals the master). reload waits for the
// current parts: another process may have changed them since, and died before its reload.
func (b *Balancer) reload(ctx context.Context, before listeners) error {
	if err := b.machine.Run(ctx, "systemctl", "enable", "haproxy"); err != nil {
		return err
	}
	loaded := ""
	waiting := polling(isMissing)
	waiting.Within = takeOver
	err := waiting.Do(ctx, func() error {
		s, digest, err := b.read(ctx)
		if err == nil && digest != loaded {
			loaded = digest
			err = b.machine.Unit(ctx, "reload-or-restart", program)
		}
		if err != nil {
			return err
		}
		now, err := b.listeners(ctx)
		if err != nil {
			return err
		}
		if missing := now.serves(s.Parts, before); missing != "" {
			return missingError(missing)
		}
		return nil
	})
	if isMissing(err) {
		return fmt.Errorf("loadbalancer: waiting for haproxy on %s to take over its new configuration (journalctl -u haproxy says more): %w", b.machine.SSH.Name(), err)
	}
	return err
}

// missingError names a difference between what haproxy serves and its configuration.
type missingError string

func (e missingError) Error() string { return string(e) }

func isMissing(err error) bool {
	_, missing := errors.AsType[missingError](err)
	return missing
}

// polling returns how often to look at a machine while an error may pass.
func polling(mayPass func(error) bool) retry.Policy {
	return retry.Policy{First: 20 * time.Millisecond, Most: time.Second, If: mayPass}
}
