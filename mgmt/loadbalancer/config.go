package loadbalancer

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Config is all that haproxy is to do.
type Config struct {
	Parts map[string]Part // by owner, such as cluster/ID, cnf/ID
	// Drained are servers, by id, that get no new connection.
	Drained []string
	// IPv6 has the ports answer at IPv6 addresses too: haproxy does not start with it where the kernel has no IPv6.
	IPv6 bool
	// AlivePort is a port of loopback at which haproxy answers "GET /alive" with 200 while it runs, for keepalived. Default: none.
	AlivePort int
}

// PortError tells that a port of the load balancer has somebody already.
type PortError struct {
	Port   int
	Owner  string // who wants it
	Taken  string // whose it is: an owner, or the name of a program of the machine
	Remedy string
}

func (e *PortError) Error() string {
	return fmt.Sprintf("loadbalancer: port %d, which %s wants, is taken by %s: %s", e.Port, e.Owner, e.Taken, e.Remedy)
}

// haproxy's names have letters, digits and these (haproxy's configuration.txt, 4 "Proxies"). A line of its
// configuration had no more than 2048 characters before 2.2.
var (
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,251}$`)
	ownerForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
	idForm    = regexp.MustCompile(`^[^\x00-\x1f\x7f]{1,256}$`)
)

// Validate reports everything that keeps haproxy.cfg from being rendered (errors.Join; *PortError for two owners at one
// port). A group that nobody has is none: it has no servers, as a cluster that is gone.
func (c Config) Validate() error {
	v := validator{ports: map[int]string{}, groups: map[string]string{}, ids: map[string]Server{}, names: map[string]string{}}
	for _, owner := range slices.Sorted(maps.Keys(c.Parts)) {
		v.owner = owner
		if len(owner) > 200 || !ownerForm.MatchString(owner) {
			v.fault("the owner %q must have letters, digits and . _ - between slashes", owner)
		}
		v.part(c.Parts[owner])
	}
	if c.AlivePort < 0 || c.AlivePort > 65535 {
		v.fault("the alive port is %d, no number from 1 to 65535", c.AlivePort)
	}
	if owner, taken := v.ports[c.AlivePort]; taken && c.AlivePort != 0 {
		v.faults = append(v.faults, &PortError{Port: c.AlivePort, Owner: owner, Taken: "GET /alive", Remedy: "choose another one"})
	}
	return errors.Join(v.faults...)
}

type validator struct {
	owner  string
	ports  map[int]string    // owners
	groups map[string]string // owners
	ids    map[string]Server // as they are known first
	names  map[string]string // ids
	faults []error
}

func (v *validator) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Errorf("loadbalancer: "+format, args...))
}

func (v *validator) part(p Part) {
	for _, group := range slices.Sorted(maps.Keys(p.Groups)) {
		v.group(group, p.Groups[group])
	}
	names := map[string]bool{}
	for i, f := range p.Frontends {
		at := fmt.Sprintf("%s: frontends[%d]", v.owner, i)
		if !nameForm.MatchString(f.Name) {
			v.fault("%s: the name %q must have letters, digits and . _ : -", at, f.Name)
		}
		if names[f.Name] {
			v.fault("%s: the name %q is another one's too", at, f.Name)
		}
		names[f.Name] = true
		v.frontend(at, f)
	}
}

func (v *validator) frontend(at string, f Frontend) {
	for what, port := range map[string]int{"port": f.Port, "toward": f.Toward} {
		if port < 1 || port > 65535 {
			v.fault("%s: %s is %d, no number from 1 to 65535", at, what, port)
		}
	}
	if other, taken := v.ports[f.Port]; taken {
		v.faults = append(v.faults, &PortError{Port: f.Port, Owner: v.owner, Taken: other, Remedy: "choose another one"})
	} else {
		v.ports[f.Port] = v.owner
	}
	if f.Check != "" && f.Check != CheckTCP && f.Check != CheckAPI {
		v.fault("%s: the check %q must be %s or %s", at, f.Check, CheckTCP, CheckAPI)
	}
	if len(f.To) == 0 {
		v.fault("%s: leads to no group of servers", at)
	}
	for _, group := range f.To {
		if !nameForm.MatchString(group) {
			v.fault("%s: leads to %q, which is no name of a group", at, group)
		}
	}
}

func (v *validator) group(name string, servers []Server) {
	at := fmt.Sprintf("%s: group %s", v.owner, name)
	if !nameForm.MatchString(name) {
		v.fault("%s: the name of the group %q must have letters, digits and . _ : -", v.owner, name)
	}
	if other, taken := v.groups[name]; taken {
		v.fault("%s: %s has a group of this name: a load balancer is of one cluster", at, other)
	}
	v.groups[name] = v.owner
	inGroup := map[string]bool{}
	for i, s := range servers {
		v.server(fmt.Sprintf("%s[%d]", at, i), s)
		if inGroup[s.ID] {
			v.fault("%s[%d]: the id %q is another one's too", at, i, s.ID)
		}
		inGroup[s.ID] = true
	}
}

// server checks a machine, which is the same one in all groups.
func (v *validator) server(at string, s Server) {
	if !idForm.MatchString(s.ID) {
		v.fault("%s: the id %q must have 1 to 256 printable characters", at, s.ID)
	}
	if !nameForm.MatchString(s.Name) {
		v.fault("%s: the name %q must have letters, digits and . _ : -", at, s.Name)
	}
	if a := s.Address; !a.IsValid() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() {
		v.fault("%s: %q is no address of a machine", at, strings.Trim(a.String(), "\n"))
	}
	if known, ok := v.ids[s.ID]; ok && known != s {
		v.fault("%s: the id %q is that of %s at %s", at, s.ID, known.Name, known.Address)
	}
	v.ids[s.ID] = s
	if id, ok := v.names[s.Name]; ok && id != s.ID {
		v.fault("%s: the name %q is that of another machine, %q", at, s.Name, id)
	}
	v.names[s.Name] = s.ID
}
