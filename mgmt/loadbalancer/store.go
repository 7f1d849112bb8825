package loadbalancer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
)

// The files of the load balancer.
const (
	// PartsFile contains the parts, for root alone.
	PartsFile = "/etc/haproxy/vnfkit-parts.json"
	// ConfigFile is the configuration of haproxy.
	ConfigFile = "/etc/haproxy/haproxy.cfg"
)

// stored is the content of PartsFile.
type stored struct {
	Parts   map[string]Part     `json:"parts"`
	Drained map[string][]string `json:"drained,omitempty"` // ids of servers, by the owner of their group
}

// config returns the configuration of haproxy.
func (s *stored) config() Config {
	return Config{Parts: s.Parts, Drained: slices.Concat(slices.Collect(maps.Values(s.Drained))...)}
}

// known returns an error if frontends of an owner lead to groups that do not exist.
func (s *stored) known(owner string) error {
	known := map[string]bool{}
	for _, p := range s.Parts {
		for name := range p.Groups {
			known[name] = true
		}
	}
	var faults []error
	for _, f := range s.Parts[owner].Frontends {
		for _, group := range f.To {
			if !known[group] {
				faults = append(faults, fmt.Errorf("loadbalancer: %s: %q leads to the group %q, which does not exist: there are %q", owner, f.Name, group, slices.Sorted(maps.Keys(known))))
			}
		}
	}
	return errors.Join(faults...)
}

// read reads PartsFile. digest is the value that a replacement must expect.
func (b *Balancer) read(ctx context.Context) (s stored, digest string, err error) {
	text, exists, err := b.machine.Read(ctx, PartsFile)
	if err != nil {
		return s, "", err
	}
	digest = "none"
	if exists {
		digest = sum(text)
		if err := json.Unmarshal(text, &s); err != nil {
			return s, "", fmt.Errorf("loadbalancer: %s of %s is damaged: %w", PartsFile, b.machine.SSH.Name(), err)
		}
	}
	if s.Parts == nil {
		s.Parts = map[string]Part{}
	}
	if s.Drained == nil {
		s.Drained = map[string][]string{}
	}
	return s, digest, nil
}

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

// errFaster reports that another process has changed the parts meanwhile.
var errFaster = errors.New("loadbalancer: other processes keep changing the load balancer")

// update changes the parts, and repeats that if another process was faster, and makes haproxy serve them. It reloads
// haproxy also without a change, since an earlier process may have died between the two.
func (b *Balancer) update(ctx context.Context, change func(*stored) error) error {
	mayPass := func(err error) bool { return errors.Is(err, errFaster) }
	return polling(mayPass).Do(ctx, func() error { return b.attempt(ctx, change) })
}

func (b *Balancer) attempt(ctx context.Context, change func(*stored) error) error {
	s, digest, err := b.read(ctx)
	if err != nil {
		return err
	}
	if err := change(&s); err != nil {
		return err
	}
	c := s.config()
	if c.IPv6, err = b.machine.Succeeds(ctx, "test", "-e", "/proc/net/if_inet6"); err != nil {
		return err
	}
	conf, err := c.Render()
	if err != nil {
		return err
	}
	parts, err := json.Marshal(s)
	if err != nil {
		return err
	}
	before, err := b.listeners(ctx)
	if err != nil {
		return err
	}
	if err := before.foreign(s.Parts); err != nil {
		return err
	}
	if err := b.replace(ctx, digest, conf, append(parts, '\n')); err != nil {
		return err
	}
	return b.reload(ctx, before)
}

// replaceLock is held while the files are replaced.
const replaceLock = "/run/vnfkit-haproxy.lock"

// faster is the exit code of replaceScript if the parts are not the expected ones.
const faster = 75

// replaceScript replaces both files: $1 is the digest of the expected parts, $2 that of the input, $3 the size of the
// configuration at the beginning of the input, $4 the offset of the parts in it. The parts are replaced first: the next
// process renders haproxy.cfg from them.
const replaceScript = `set -eu
umask 077
mkdir -p /etc/haproxy
cd /etc/haproxy
now=none
[ ! -e vnfkit-parts.json ] || now=$(sha256sum <vnfkit-parts.json)
[ "${now%% *}" = "$1" ] || exit 75
cat >vnfkit-new
got=$(sha256sum <vnfkit-new)
[ "${got%% *}" = "$2" ] || { echo "the configuration arrived incomplete" >&2; exit 1; }
head -c "$3" vnfkit-new >haproxy.cfg.vnfkit-new
tail -c "+$4" vnfkit-new >vnfkit-parts.json.vnfkit-new
rm -f vnfkit-new
chmod 644 haproxy.cfg.vnfkit-new
haproxy -c -f /etc/haproxy/haproxy.cfg.vnfkit-new >&2
if [ -e haproxy.cfg ] && [ ! -e vnfkit-parts.json ] && [ ! -e haproxy.cfg.before-vnfkit ]; then
  cp -p haproxy.cfg haproxy.cfg.before-vnfkit-new
  mv -f haproxy.cfg.before-vnfkit-new haproxy.cfg.before-vnfkit
fi
mv -f vnfkit-parts.json.vnfkit-new vnfkit-parts.json
mv -f haproxy.cfg.vnfkit-new haproxy.cfg
`

// replace replaces the files unless another process has replaced the parts meanwhile (errFaster), or haproxy rejects
// the new configuration.
func (b *Balancer) replace(ctx context.Context, expected string, conf, parts []byte) error {
	input := slices.Concat(conf, parts)
	err := b.machine.Exec(ctx, sshexec.Command{
		Argv: []string{"flock", "-o", replaceLock, "sh", "-c", replaceScript, "sh",
			expected, sum(input), strconv.Itoa(len(conf)), strconv.Itoa(len(conf) + 1)},
		Stdin: bytes.NewReader(input),
	})
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok {
		return err
	}
	if exit.Code == faster {
		return errFaster
	}
	return &replaceError{host: b.machine.SSH.Name(), said: complaints(exit.Stderr), err: exit}
}

// replaceError is an *sshexec.ExitError whose text shows the cause instead of the script.
type replaceError struct {
	host, said string
	err        *sshexec.ExitError
}

func (e *replaceError) Error() string {
	return fmt.Sprintf("loadbalancer: the configuration of %s was not changed: %s (exit code %d)", e.host, e.said, e.err.Code)
}

func (e *replaceError) Unwrap() error { return e.err }

// complaints returns haproxy's errors about a configuration, or else its complete output.
func complaints(stderr string) string {
	var alerts, all []string
	for line := range strings.Lines(stderr) {
		all = append(all, strings.TrimSpace(line))
		if _, alert, found := strings.Cut(line, "[ALERT]"); found {
			alerts = append(alerts, strings.TrimSpace(alert))
		}
	}
	if len(alerts) == 0 {
		alerts = all
	}
	return strings.Join(alerts, "; ")
}
