package linux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/sshexec"
)

var versionForm = regexp.MustCompile(`^[0-9][A-Za-z0-9.+:~-]*\*?$`)

// IsVersion reports whether apt accepts a text as the version of a package, after "=": "1.7.27-1", or "1.7.*" for the
// newest of these (Debian policy 5.6.12).
func IsVersion(text string) bool { return versionForm.MatchString(text) }

// aptLock is how long apt waits for other package installations, such as the upgrades of a machine that has just
// started.
const aptLock = 5 * time.Minute

// Packages installs packages on a machine with Debian or Ubuntu.
type Packages struct {
	Machine
	Env     map[string]string // environment of apt-get, such as http_proxy
	Secrets []string          // in Env, to be left out of errors
	// SourceParts is a folder whose files are the only package sources that are used. Default: the sources of the machine.
	SourceParts string
}

// Install installs packages, each in the form of apt-get ("haproxy", "docker.io=20.10.*"), also if the installed ones are held or
// newer: the caller pins the version. Configuration files that were changed on the machine stay. Install waits up to
// five minutes for other installations, and repairs an interrupted one.
func (p Packages) Install(ctx context.Context, names ...string) error {
	if err := p.repair(ctx); err != nil {
		return aptFailure(err, "")
	}
	warnings, err := p.update(ctx)
	if err != nil {
		return err
	}
	return aptFailure(p.Exec(ctx, p.install(names)), warnings)
}

// LookUp returns an error if Install could not install these packages. It changes nothing but the package lists. The
// error has apt's message, and the available versions of each package whose version is given.
func (p Packages) LookUp(ctx context.Context, names ...string) error {
	warnings, err := p.update(ctx)
	if err != nil {
		return err
	}
	err = p.Exec(ctx, p.install(names, "--simulate"))
	if _, refused := errors.AsType[*sshexec.ExitError](err); !refused {
		return err
	}
	err = aptFailure(err, warnings)
	var pinned []string
	for _, name := range names {
		if name, _, ok := strings.Cut(name, "="); ok {
			pinned = append(pinned, name)
		}
	}
	if len(pinned) == 0 {
		return err
	}
	offers, offersErr := p.madison(ctx, pinned...)
	if offersErr != nil {
		return errors.Join(err, offersErr)
	}
	return fmt.Errorf("%w; the package sources have %s", err, offered(offers, pinned))
}

// Offered returns the newest version of a package that the package sources have, "" if they do not have it. LookUp reads the package lists.
func (p Packages) Offered(ctx context.Context, name string) (version string, err error) {
	madison, err := p.madison(ctx, name)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(madison), "\n") // the newest version is first
	if fields := strings.Split(line, "|"); len(fields) == 3 {
		version = strings.TrimSpace(fields[1])
	}
	return version, nil
}

// madison lists the versions of packages in the package sources.
func (p Packages) madison(ctx context.Context, names ...string) ([]byte, error) {
	return p.Output(ctx, p.command(slices.Concat([]string{"apt-cache"}, p.sources(), []string{"madison"}, names)))
}

// maxOffered is how many versions of a package an error names, the newest ones.
const maxOffered = 5

// offered reads what apt-cache madison prints, "name | version | source" with the newest version first (apt-cache(8)).
func offered(madison []byte, names []string) string {
	versions := map[string][]string{}
	for line := range strings.Lines(string(madison)) {
		if fields := strings.Split(line, "|"); len(fields) == 3 {
			name, version := strings.TrimSpace(fields[0]), strings.TrimSpace(fields[1])
			if !slices.Contains(versions[name], version) && len(versions[name]) < maxOffered && IsVersion(version) {
				versions[name] = append(versions[name], version)
			}
		}
	}
	var out []string
	for _, name := range names {
		out = append(out, name+" "+cmp.Or(strings.Join(versions[name], ", "), "in no version"))
	}
	return strings.Join(out, "; ")
}

// aptOptions are the options of every run of apt-get.
var aptOptions = []string{"-q", "-o", fmt.Sprintf("DPkg::Lock::Timeout=%d", int(aptLock.Seconds())), "-o", "Acquire::Retries=3"}

// sources are the options of apt that choose the package sources (apt.conf(5), "Directories").
func (p Packages) sources() []string {
	if p.SourceParts == "" {
		return nil
	}
	return []string{"-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=" + p.SourceParts}
}

// update reads the package lists of all sources. warnings names the ones that it could not read.
func (p Packages) update(ctx context.Context) (warnings string, err error) {
	update := p.command(slices.Concat([]string{"apt-get"}, aptOptions, p.sources(), []string{"update"}))
	var said *Tail
	// apt does not wait for the lock of the package lists.
	listed := func(e *sshexec.ExitError) bool { return strings.Contains(e.Stderr, "/var/lib/apt/lists/lock") }
	err = whenUnlocked(ctx, listed, func() error {
		said = &Tail{Most: 64 << 10}
		update.Stderr = said
		return p.Exec(ctx, update)
	})
	return said.String(), aptFailure(err, "")
}

func (p Packages) install(names []string, options ...string) sshexec.Command {
	return p.command(slices.Concat([]string{"apt-get"}, aptOptions, p.sources(), []string{"-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold",
		"install", "-y", "--no-install-recommends", "--allow-change-held-packages", "--allow-downgrades"}, options, names))
}

// repair completes an interrupted installation: apt refuses to work before that. dpkg itself does not wait for its
// lock, but ends with 2 (dpkg(1), "Exit status").
func (p Packages) repair(ctx context.Context) error {
	repair := p.command([]string{"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"})
	return whenUnlocked(ctx, func(e *sshexec.ExitError) bool { return e.Code == 2 }, func() error { return p.Exec(ctx, repair) })
}

// whenUnlocked repeats a program as long as another process holds the lock that it needs.
func whenUnlocked(ctx context.Context, locked func(*sshexec.ExitError) bool, program func() error) error {
	return retry.Policy{First: 200 * time.Millisecond, Most: 10 * time.Second, Within: aptLock, For: "the lock of the package system", Class: retry.Lock, If: func(err error) bool {
		exit, ok := errors.AsType[*sshexec.ExitError](err)
		return ok && locked(exit)
	}}.Do(ctx, program)
}

// command is a program of the package system. Its environment keeps package scripts from asking, and Ubuntu's
// needrestart from restarting services meanwhile.
func (p Packages) command(argv []string) sshexec.Command {
	env := map[string]string{"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1"}
	maps.Copy(env, p.Env)
	return sshexec.Command{Argv: argv, Env: env, Secrets: p.Secrets}
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
