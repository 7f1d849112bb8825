package loadbalancer

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
)

// Config is the complete configuration of haproxy.
type Config struct {
	Parts map[string]Part // by owner, such as cluster/ID, cnf/ID
	// Drained are ids of servers that get no new connections.
	Drained []string
	// IPv6 makes haproxy listen at IPv6 addresses too: haproxy does not start with it if the kernel has no IPv6.
	IPv6 bool
	// AlivePort is a port of loopback at which haproxy answers "GET /alive" with 200 while it runs, for keepalived. Default: none.
	AlivePort int
}

// PortError reports that a port of the load balancer is already in use.
type PortError struct {
	Port   int
	Owner  string // owner that requests the port
	Taken  string // current user of the port: an owner, or the name of a program on the machine
	Remedy string
}

func (e *PortError) Error() string {
	return fmt.Sprintf("loadbalancer: port %d, which %s wants, is taken by %s: %s", e.Port, e.Owner, e.Taken, e.Remedy)
}

// Characters of haproxy's names beside letters and digits (haproxy's configuration.txt, 4 "Proxies"). Before 2.2 a line
// of its configuration had at most 2048 characters.
var (
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,251}$`)
	ownerForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
	idForm    = regexp.MustCompile(`^[^\x00-\x1f\x7f]{1,256}$`)
)

// Validate reports everything that prevents rendering haproxy.cfg (errors.Join; *PortError for two owners of one port).
// A frontend may name a group that does not exist: it has no servers, for example because the cluster was terminated.
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
		v.fault("the alive port is %d, must be 1 to 65535", c.AlivePort)
	}
	if owner, taken := v.ports[c.AlivePort]; taken && c.AlivePort != 0 {
		v.faults = append(v.faults, &PortError{Port: c.AlivePort, Owner: owner, Taken: "GET /alive", Remedy: "choose another one"})
	}
	return errors.Join(v.faults...)
}

type validator struct {
	owner  string
	ports  map[int]string    // owner by port
	groups map[string]string // owner by group
	ids    map[string]Server // first description of each server, by id
	names  map[string]string // id by name
	faults []error
}

func (v *validator) fault(format string, args ...any) {
	v.faults = append(v.faults, errors.New(answerlimit.Shorten(fmt.Sprintf("loadbalancer: "+format, args...)))) // names are those of a cluster
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
			v.fault("%s: the name %q is used twice", at, f.Name)
		}
		names[f.Name] = true
		v.frontend(at, f)
	}
}

func (v *validator) frontend(at string, f Frontend) {
	for what, port := range map[string]int{"port": f.Port, "toward": f.Toward} {
		if port < 1 || port > 65535 {
			v.fault("%s: %s is %d, must be 1 to 65535", at, what, port)
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
		v.fault("%s: has no group of servers", at)
	}
	for _, group := range f.To {
		if !nameForm.MatchString(group) {
			v.fault("%s: leads to %q, which is not a valid name of a group", at, group)
		}
	}
}

func (v *validator) group(name string, servers []Server) {
	at := fmt.Sprintf("%s: group %s", v.owner, name)
	if !nameForm.MatchString(name) {
		v.fault("%s: the name of the group %q must have letters, digits and . _ : -", v.owner, name)
	}
	if other, taken := v.groups[name]; taken {
		v.fault("%s: %s has a group of this name: a load balancer serves one cluster", at, other)
	}
	v.groups[name] = v.owner
	inGroup := map[string]bool{}
	for i, s := range servers {
		v.server(fmt.Sprintf("%s[%d]", at, i), s)
		if inGroup[s.ID] {
			v.fault("%s[%d]: the id %q is used twice", at, i, s.ID)
		}
		inGroup[s.ID] = true
	}
}

// server checks a machine, which must have the same description in all groups.
func (v *validator) server(at string, s Server) {
	if !idForm.MatchString(s.ID) {
		v.fault("%s: the id %q must have 1 to 256 printable characters", at, s.ID)
	}
	if !nameForm.MatchString(s.Name) {
		v.fault("%s: the name %q must have letters, digits and . _ : -", at, s.Name)
	}
	if a := s.Address; !a.IsValid() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() {
		v.fault("%s: %q is not an address of a machine", at, strings.Trim(a.String(), "\n"))
	}
	if known, ok := v.ids[s.ID]; ok && known != s {
		v.fault("%s: the id %q belongs to %s at %s already", at, s.ID, known.Name, known.Address)
	}
	v.ids[s.ID] = s
	if id, ok := v.names[s.Name]; ok && id != s.ID {
		v.fault("%s: the name %q belongs to another machine, %q", at, s.Name, id)
	}
	v.names[s.Name] = s.ID
}
