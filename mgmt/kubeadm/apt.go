package kubeadm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
)

// aptLock is how long apt waits for others that install, such as the upgrades of a machine that has just
// started.
const aptLock = 5 * time.Minute

// install installs packages, each as apt-get takes it, held and newer ones too: what is pinned is meant.
// Configuration files that somebody changed stay.
func (d *deployment) install(ctx context.Context, n mgmt.Node, packages ...string) error {
	if err := d.repairPackages(ctx, n); err != nil {
		return aptFailure(err, "")
	}
	options := []string{"-q", "-o", fmt.Sprintf("DPkg::Lock::Timeout=%d", int(aptLock.Seconds())), "-o", "Acquire::Retries=3"}
	install := slices.Concat([]string{"apt-get"}, options, []string{"-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold",
		"install", "-y", "--no-install-recommends", "--allow-change-held-packages", "--allow-downgrades"}, packages)
	update := d.aptCommand(slices.Concat([]string{"apt-get"}, options, []string{"update"}))
	var warnings bytes.Buffer
	// The lock of the lists is none that apt waits for.
	listed := func(e *sshexec.ExitError) bool { return strings.Contains(e.Stderr, "/var/lib/apt/lists/lock") }
	err := d.whenUnlocked(ctx, listed, func() error {
		warnings.Reset()
		update.Stderr = &warnings
		return n.SSH.Exec(ctx, update)
	})
	if err != nil {
		return aptFailure(err, "")
	}
	return aptFailure(n.SSH.Exec(ctx, d.aptCommand(install)), warnings.String())
}

// repairPackages finishes what an installation that was cut short has left: apt refuses to work before that.
// dpkg itself does not wait for its lock, but ends with 2 (dpkg(1), "Exit status").
func (d *deployment) repairPackages(ctx context.Context, n mgmt.Node) error {
	repair := d.aptCommand([]string{"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"})
	return d.whenUnlocked(ctx, func(e *sshexec.ExitError) bool { return e.Code == 2 }, func() error { return n.SSH.Exec(ctx, repair) })
}

// whenUnlocked runs a program again as long as somebody else has the lock that it needs.
func (d *deployment) whenUnlocked(ctx context.Context, locked func(*sshexec.ExitError) bool, program func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := program()
		if exit, ok := errors.AsType[*sshexec.ExitError](err); err == nil || ok && locked(exit) {
			return struct{}{}, err
		}
		return struct{}{}, backoff.Permanent(err)
	}, backoff.WithBackOff(&backoff.ExponentialBackOff{InitialInterval: 200 * time.Millisecond, Multiplier: 2, MaxInterval: 10 * time.Second}),
		backoff.WithMaxElapsedTime(aptLock))
	return err
}

// aptCommand is a program of the package system. Its environment keeps package scripts from asking, and Ubuntu's
// needrestart from restarting services meanwhile.
func (d *deployment) aptCommand(argv []string) sshexec.Command {
	env := map[string]string{"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1"}
	maps.Copy(env, d.environment())
	return sshexec.Command{Argv: argv, Root: true, Env: env, Secrets: []string{d.p.Proxy.HTTPProxy.Reveal(), d.p.Proxy.HTTPSProxy.Reveal()}}
}

// aptFailure adds to the error of a program of the package system what explains it: the last line, which is all that
// the error shows, is mostly a conclusion. What apt-get update could not read is only a warning there, and apt-get
// install then misses packages without a word of why.
func aptFailure(err error, warnings string) error {
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok {
		return err
	}
	said := append(aptComplaints(warnings), aptComplaints(exit.Stderr)...)
	if n := len(said); n > 0 && strings.HasSuffix(err.Error(), said[n-1]) {
		said = said[:n-1]
	}
	if len(said) == 0 {
		return err
	}
	const most = 6
	return fmt.Errorf("%w (%s)", err, strings.Join(said[max(0, len(said)-most):], "; "))
}

// aptComplaints are the errors and warnings in what apt has said on standard error (apt, apt-pkg/contrib/error.cc).
func aptComplaints(text string) (out []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "E: ") || strings.HasPrefix(line, "W: ") {
			out = append(out, line)
		}
	}
	return out
}
