// Package vimattributes reads the sections of a vimConnectionInfo with which infra drivers log in. The attributes are
// free-form: one may have several names, values may be secret, and unknown attributes cause a warning.
package vimattributes

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Section is interfaceInfo or accessInfo. It collects faults while it is read.
type Section struct {
	name   string
	values map[string]any
	known  map[string]bool
	faults []error
}

// Of returns both sections.
func Of(vim vnflcm.VimConnectionInfo) (interfaceInfo, accessInfo *Section) {
	return section("interfaceInfo", vim.InterfaceInfo), section("accessInfo", vim.AccessInfo)
}

func section(name string, from vnflcm.Params) *Section {
	s := &Section{name: name, known: map[string]bool{}}
	if _, err := from.Decode(&s.values); err != nil {
		s.faults = append(s.faults, vnflcm.AtPath(name, err))
	}
	return s
}

// Fault adds one. The value is shown: it is left empty where it may be secret.
func (s *Section) Fault(attribute, value, reason string) {
	s.faults = append(s.faults, &vnflcm.ParamError{Path: s.name + "." + attribute, Value: value, Reason: reason})
}

// Faulty reports whether there is a fault.
func (s *Section) Faulty() bool { return len(s.faults) > 0 }

// Ignore names attributes that are valid although they have no effect.
func (s *Section) Ignore(attributes ...string) {
	for _, a := range attributes {
		s.known[a] = true
	}
}

// Value returns an attribute unchanged, nil if it does not exist.
func (s *Section) Value(attribute string) any {
	s.Ignore(attribute)
	return s.values[attribute]
}

// Text returns the value of the name that is present, "" if none is. If several names are present, their values must be
// equal: otherwise it is a fault, which shows the value.
func (s *Section) Text(names ...string) string { return s.lookUp(names, true) }

// Secret is Text for a value that is not shown.
func (s *Section) Secret(names ...string) string { return s.lookUp(names, false) }

func (s *Section) lookUp(names []string, shown bool) string {
	found, under := "", ""
	for _, name := range names {
		var text string
		switch v := s.Value(name).(type) {
		case nil:
			continue
		case string:
			text = v
		case json.Number:
			text = v.String()
		default:
			s.Fault(name, "", "must be a string")
			continue
		}
		if text == "" || text == found {
			continue
		}
		if found != "" {
			value := ""
			if shown {
				value = text
			}
			s.Fault(name, value, "is not what "+under+" says: give one of them")
			continue
		}
		found, under = text, name
	}
	return found
}

// Bool returns the value of the first name that is present, the preset if none is. It may be text, as in Tacker.
func (s *Section) Bool(preset bool, names ...string) bool {
	out, found := preset, false
	for _, name := range names {
		v := s.Value(name)
		if v == nil || found {
			continue
		}
		b, err := strconv.ParseBool(strings.ToLower(fmt.Sprint(v)))
		if err != nil {
			s.Fault(name, "", "must be true or false")
			continue
		}
		out, found = b, true
	}
	return out
}

// Faults returns the faults of all sections (*vnflcm.ParamError, joined).
func Faults(sections ...*Section) error {
	var all []error
	for _, s := range sections {
		all = append(all, s.faults...)
	}
	return vnflcm.AtPath("vimConnectionInfo", errors.Join(all...))
}

// Unknown returns the paths of attributes that the program has not read.
func Unknown(sections ...*Section) (out []string) {
	for _, s := range sections {
		for _, name := range slices.Sorted(maps.Keys(s.values)) {
			if !s.known[name] {
				out = append(out, "vimConnectionInfo."+s.name+"."+name)
			}
		}
	}
	return out
}
