package vnflcm

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// vimForm says how an entry of a request's vimConnectionInfo uses the registry of VIMs. Stored secrets reach only the stored address,
// under the stored TLS settings and through the stored jump host, so no form mixes an address of the request with a stored login.
type vimForm string

const (
	// vimByName is a registered VIM as it is stored. The request may add the id of the connection and a region.
	vimByName vimForm = "name"
	// vimWithLogin is the address, the TLS settings and the jump host of a registered VIM with the login data of the request. No stored
	// login data is used.
	vimWithLogin vimForm = "login"
	// vimComplete is the entry of the request alone, even if its vimId is registered.
	vimComplete vimForm = "complete"
	// vimMixed is an entry of none of the forms, which comes with an error.
	vimMixed vimForm = "mixed"
)

// attributeKind is what an attribute of a connection belongs to.
type attributeKind int

const (
	addressAttribute attributeKind = iota // the address, TLS settings, a jump host, and everything that is not known
	loginAttribute
	regionAttribute
)

// addressesInAccess are attributes of accessInfo that say where or how to connect. Tacker and drivers accept them there.
var addressesInAccess = []string{"authurl", "endpoint", "url", "address", "host", "interface", "kubeconfig", "certverify", "sslcacert", "cacert", "tlsservername",
	"insecure", "insecureskiptlsverify", "skipcertificateverification", "skipcertificatehostnamecheck", "jumphost", "proxy"}

// addresses are attributes that say where a VIM is. The other ones of their kind say how to connect.
var addresses = []string{"endpoint", "authurl", "url", "address", "host", "kubeconfig"}

// hasAddress reports whether an attribute says where the VIM is.
func (s vimSections) hasAddress() bool {
	for _, section := range []string{"interfaceInfo", "accessInfo"} {
		for name, value := range s[section] {
			if value != nil && slices.Contains(addresses, strings.ToLower(unseparated.Replace(name))) {
				return true
			}
		}
	}
	return false
}

// kindOfAttribute tells login data from the rest by the section and the name of an attribute, however the name is spelled.
func kindOfAttribute(section, name string) attributeKind {
	name = strings.ToLower(unseparated.Replace(name))
	switch section {
	case "extra":
		if name == "helminfo" || name == "namespace" {
			return loginAttribute
		}
	case "accessInfo":
		if name == "region" || name == "regionname" {
			return regionAttribute
		}
		if !slices.Contains(addressesInAccess, name) {
			return loginAttribute
		}
	default:
		if name == "region" || name == "regionname" {
			return regionAttribute
		}
	}
	return addressAttribute
}

// vimSections are the attributes of a connection by section.
type vimSections map[string]map[string]any

func (v VimConnectionInfo) sections() (vimSections, error) {
	out := vimSections{}
	for _, section := range []struct {
		name   string
		params Params
	}{{"interfaceInfo", v.InterfaceInfo}, {"accessInfo", v.AccessInfo}, {"extra", v.Extra}} {
		attributes := map[string]any{}
		if err := decodeUseNumber(section.params.Reveal(), &attributes); err != nil {
			return nil, fmt.Errorf("vimConnectionInfo: %s: %w", section.name, err)
		}
		out[section.name] = attributes
	}
	return out, nil
}

// has reports whether there is an attribute of a kind in a section.
func (s vimSections) has(section string, kind attributeKind) bool {
	for name, value := range s[section] {
		if value != nil && kindOfAttribute(section, name) == kind {
			return true
		}
	}
	return false
}

// remove removes the attributes for which drop is true.
func (s vimSections) remove(drop func(section, name string) bool) {
	for section, attributes := range s {
		maps.DeleteFunc(attributes, func(name string, _ any) bool { return drop(section, name) })
	}
}

// take sets the attributes of a kind to those of other; null removes one.
func (s vimSections) take(other vimSections, kind attributeKind) {
	for section, attributes := range other {
		for name, value := range attributes {
			switch {
			case kindOfAttribute(section, name) != kind:
			case value == nil:
				delete(s[section], name)
			default:
				s[section][name] = value
			}
		}
	}
}

// into returns v with the attributes of s.
func (s vimSections) into(v VimConnectionInfo) (VimConnectionInfo, error) {
	for name, params := range map[string]*Params{"interfaceInfo": &v.InterfaceInfo, "accessInfo": &v.AccessInfo, "extra": &v.Extra} {
		var err error
		if *params, err = NewParams(s[name]); err != nil {
			return v, err
		}
	}
	return v, nil
}

// sameAttribute reports whether two values of an attribute mean the same: booleans and numbers may be texts.
func sameAttribute(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any, nil:
		return reflect.DeepEqual(a, b)
	}
	return b != nil && fmt.Sprint(a) == fmt.Sprint(b)
}

// differing lists the paths of the attributes that s has and known has with another value or not at all, by kind.
func (s vimSections) differing(known vimSections) map[attributeKind][]string {
	out := map[attributeKind][]string{}
	for section, attributes := range s {
		for name, value := range attributes {
			if !sameAttribute(value, known[section][name]) {
				kind := kindOfAttribute(section, name)
				out[kind] = append(out[kind], section+"."+name)
			}
		}
	}
	return out
}

// combineVIM returns the connection that the entry given of a request means, where known is the registered VIM that the entry names, and
// the form of the entry. An entry of none of the forms is a fault that names the attributes.
func combineVIM(path string, known, given VimConnectionInfo) (VimConnectionInfo, vimForm, error) {
	stored, err := known.sections()
	if err != nil {
		return given, "", err
	}
	asked, err := given.sections()
	if err != nil {
		return given, "", err
	}
	differing := asked.differing(stored)
	form := vimByName
	switch hasLogin := asked.has("accessInfo", loginAttribute); {
	case len(differing[addressAttribute]) > 0:
		if given.VimType == "" || !asked.hasAddress() || !hasLogin && asked["accessInfo"]["kubeconfig"] == nil {
			return given, vimMixed, incomplete(path, given.VimID, differing[addressAttribute],
				"leave it out, or give vimType, the address and the login: then nothing of the registered VIM is used")
		}
		return given, vimComplete, nil
	case len(differing[loginAttribute]) > 0:
		if !hasLogin {
			return given, vimMixed, incomplete(path, given.VimID, differing[loginAttribute],
				"leave it out, or give the whole login in accessInfo: then no login data of the registered VIM is used")
		}
		form = vimWithLogin
		stored.remove(func(section, name string) bool {
			return kindOfAttribute(section, name) == loginAttribute || section == "accessInfo" && name == "kubeconfig"
		})
		stored.take(asked, loginAttribute)
	}
	if len(differing[regionAttribute]) > 0 {
		stored.remove(func(section, name string) bool { return kindOfAttribute(section, name) == regionAttribute })
		stored.take(asked, regionAttribute)
	}
	if given.ID != "" {
		known.ID = given.ID
	}
	out, err := stored.into(known)
	return out, form, err
}

// incomplete makes a fault of each attribute. Values may be secret.
func incomplete(path, vimID string, attributes []string, remedy string) error {
	var faults []error
	for _, name := range slices.Sorted(slices.Values(attributes)) {
		faults = append(faults, &ParamError{Path: path + "." + name, Reason: fmt.Sprintf("differs from the registered VIM %s: %s", vimID, remedy)})
	}
	return errors.Join(faults...)
}
