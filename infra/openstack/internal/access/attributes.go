package access

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// attributes reads one section of a vimConnectionInfo, in which an attribute can have several names.
type attributes struct {
	section string
	values  map[string]any
	known   map[string]bool
	faults  []error
}

func newAttributes(section string, from vnflcm.Params) *attributes {
	a := &attributes{section: section, known: map[string]bool{}}
	if _, err := from.Decode(&a.values); err != nil {
		a.faults = append(a.faults, vnflcm.AtPath(section, err))
	}
	return a
}

func (a *attributes) fault(name, value, reason string) {
	a.faults = append(a.faults, &vnflcm.ParamError{Path: a.section + "." + name, Value: value, Reason: reason})
}

func (a *attributes) text(names ...string) string   { return a.lookUp(names, true) }
func (a *attributes) secret(names ...string) string { return a.lookUp(names, false) }

// lookUp returns the value of whichever name is there. Two names must agree: which one was meant is unknown.
func (a *attributes) lookUp(names []string, shown bool) string {
	found, under := "", ""
	for _, name := range names {
		a.known[name] = true
		var text string
		switch v := a.values[name].(type) {
		case nil:
			continue
		case string:
			text = v
		case json.Number:
			text = v.String()
		default:
			a.fault(name, "", "must be a string")
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
			a.fault(name, value, "is not what "+under+" says: give one of them")
			continue
		}
		found, under = text, name
	}
	return found
}

func (a *attributes) boolean(preset bool, names ...string) bool {
	for _, name := range names {
		a.known[name] = true
		v := a.values[name]
		if v == nil {
			continue
		}
		b, err := strconv.ParseBool(strings.ToLower(fmt.Sprint(v)))
		if err != nil {
			a.fault(name, "", "must be true or false")
			continue
		}
		return b
	}
	return preset
}

// certificates are one text or a list of texts.
func (a *attributes) certificates() string {
	var all []string
	for _, name := range []string{"trustedCertificates", "ssl_ca_cert", "caCert"} {
		a.known[name] = true
		list, ok := a.values[name].([]any)
		if !ok && a.values[name] != nil {
			list = []any{a.values[name]}
		}
		for _, item := range list {
			text, ok := item.(string)
			if !ok {
				a.fault(name, "", "must be certificates in PEM form")
			} else if text != "" && !strings.EqualFold(text, "none") { // Tacker writes None for no certificate
				all = append(all, certificatesPEM(text))
			}
		}
	}
	return strings.Join(all, "\n")
}

func (a *attributes) unknown() (out []string) {
	for _, name := range slices.Sorted(maps.Keys(a.values)) {
		if !a.known[name] {
			out = append(out, "vimConnectionInfo."+a.section+"."+name)
		}
	}
	return out
}
