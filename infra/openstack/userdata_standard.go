package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// nfv is the parameter of a base HOT that user data fills. The get_param expressions of the template show which values
// the VNF needs.
const nfv = "nfv"

// DefaultUserData fills the parameter nfv with the values that the template reads from it: flavor, image, zone and
// capacity of each VDU, and network, addresses and port of each connection point. It takes each value from the first of
// these sources that has it: the grant, the request, the current stack, the VNFD. Then it applies additionalParams.nfv of
// the request and of the grant as JSON merge patches (RFC 7396). Other parameters of the template get the value that
// additionalParams has under the same name or, if a group reads its size from the parameter, the number of VNFCs. If a
// value has no source, DefaultUserData returns a *vnflcm.ParamError that names the line of the template.
func DefaultUserData(_ context.Context, req UserDataRequest) (Definition, error) {
	return define(req, false)
}

// StandardUserData does what DefaultUserData does, for packages whose VNFCs are separate resources instead of members of
// groups. It replaces the resource of the base HOT that has the name of a VDU by one copy per VNFC, named VDU-0, VDU-1
// and so on (hot.Template.Individual). Both functions have the names of the classes of Tacker's version 2 API.
func StandardUserData(_ context.Context, req UserDataRequest) (Definition, error) {
	return define(req, true)
}

func define(req UserDataRequest, individual bool) (Definition, error) {
	f := &filler{op: req.Op, template: req.Template, groups: req.Template.Groups(), individual: individual, current: object(req.Current[nfv]), images: req.Images}
	for _, link := range f.op.ManagedLinks {
		f.template.UseNetwork(link.Link(), link.ResourceID)
	}
	f.capacities()
	parameters := map[string]any{}
	if slices.ContainsFunc(f.template.Parameters(), func(p hot.Parameter) bool { return p.Name == nfv }) {
		parameters[nfv] = f.fill()
	}
	f.ownParameters(req.Current, parameters)
	f.checkConnections()
	return Definition{Template: f.template, Parameters: parameters}, errors.Join(f.faults...)
}

// filler computes the parameters of one stack.
type filler struct {
	op         *vnflcm.Operation
	template   *hot.Template
	groups     []hot.Group // as in the package, before changes
	individual bool
	current    map[string]any // nfv of the current stack; nil if the stack is to be created
	images     map[string]string
	capacity   map[string]int // by VDU
	faults     []error
}

func (f *filler) fault(path, value, format string, args ...any) {
	f.faults = append(f.faults, &vnflcm.ParamError{Path: path, Value: value, Reason: fmt.Sprintf(format, args...)})
}

// fill computes the value of nfv.
func (f *filler) fill() map[string]any {
	over := f.given()
	out := map[string]any{}
	merge(out, f.current)
	f.dropMoved(out)
	for _, ref := range f.template.References(nfv) {
		if len(ref.Path) < 2 {
			continue
		}
		if _, given := lookUp(over, ref.Path[1:]); given {
			continue
		}
		if value, known := f.value(ref); known {
			put(out, ref.Path[1:], value)
		} else if _, kept := lookUp(out, ref.Path[1:]); !kept && !f.op.GrantPending {
			f.fault("additionalParams."+strings.Join(ref.Path, "."), "", "is needed by the template (%s): %s", ref, f.remedy(ref.Path))
		}
	}
	if f.individual {
		f.dropGone(out)
	}
	merge(out, over)
	return out
}

// given returns the values for nfv in additionalParams of the request and of the grant; the grant takes precedence.
func (f *filler) given() map[string]any {
	out := map[string]any{}
	var params, granted struct {
		NFV map[string]any `json:"nfv"`
	}
	f.decode(f.op.Params, &params)
	if f.op.Grant != nil {
		f.decode(f.op.Grant.AdditionalParams, &granted)
	}
	merge(out, params.NFV)
	merge(out, granted.NFV)
	return out
}

func (f *filler) decode(p vnflcm.Params, into any) {
	if _, err := p.Decode(into); err != nil {
		f.faults = append(f.faults, vnflcm.AtPath("additionalParams", err))
	}
}

// value returns the value of a leaf of nfv. known is false if the current value of the stack stays, or if no source has a
// value.
func (f *filler) value(ref hot.Reference) (value any, known bool) {
	path := ref.Path
	switch {
	case f.group(path) != nil:
		return f.groupSize(path)
	case len(path) >= 4 && path[1] == "VDU":
		return f.vduValue(path)
	case len(path) >= 4 && path[1] == "CP":
		return f.cpValue(path)
	case len(path) == 4 && path[1] == "VL":
		return f.linkValue(path[2])
	}
	return nil, false
}

// linkValue is the network of a managed link.
func (f *filler) linkValue(name string) (any, bool) {
	for _, l := range f.op.ManagedLinks {
		if l.Link() == name {
			return l.ResourceID, true
		}
	}
	return nil, false
}

// remedy says how the client can give a leaf of nfv that no source has.
func (f *filler) remedy(path []string) string {
	if len(path) > 3 && path[1] == "CP" {
		return "name the connection point " + path[2] + " in extVirtualLinks, with the address, subnet, port or MAC address that the template asks for, or give the value itself"
	}
	return "give it there, or register user data of your own (Config.UserData) that computes it"
}

// dropMoved removes the current values of connection points that the operation connects to another network. Subnets and
// addresses of the former network are not valid in the new one.
func (f *filler) dropMoved(out map[string]any) {
	of := object(out["CP"])
	for _, link := range f.requestedLinks() {
		for _, cp := range link.ExtCps {
			for name := range of {
				if base, _ := f.baseName(name); base == cp.CpdID {
					delete(of, name)
				}
			}
		}
	}
}

// dropGone removes the values of VNFCs that the template does not have any more.
func (f *filler) dropGone(out map[string]any) {
	wanted := map[string]bool{}
	for _, ref := range f.template.References(nfv) {
		if len(ref.Path) > 3 {
			wanted[ref.Path[1]+"/"+ref.Path[2]] = true
		}
	}
	for _, kind := range []string{"VDU", "CP"} {
		of, _ := out[kind].(map[string]any)
		for name := range of {
			if _, index := cutIndex(name); index != "" && !wanted[kind+"/"+name] {
				delete(of, name)
			}
		}
	}
}

// ownParameters fills the parameters of the template other than nfv.
func (f *filler) ownParameters(current, out map[string]any) {
	var given map[string]any
	if err := json.Unmarshal(f.op.Params.Reveal(), &given); err != nil {
		f.faults = append(f.faults, err)
	}
	for _, p := range f.template.Parameters() {
		value, there := given[p.Name]
		_, has := current[p.Name]
		sized := slices.IndexFunc(f.groups, func(g hot.Group) bool { return len(g.Parameter) == 1 && g.Parameter[0] == p.Name })
		switch {
		case p.Name == nfv, p.Name == hot.HostKeys: // fill and fillHostKeys compute these two
		case sized >= 0 && f.sizeOf(f.groups[sized]) >= 0:
			out[p.Name] = f.sizeOf(f.groups[sized])
		case there:
			out[p.Name] = value
		case !has && !p.HasDefault && (f.current == nil || f.changesPackage() && !p.Hidden):
			f.fault("additionalParams."+p.Name, "", "is a parameter of the template without a default (%s:%d)", p.File, p.Line)
		}
	}
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// merge applies a JSON merge patch (RFC 7396) to into. It copies the objects of the patch.
func merge(into, patch map[string]any) {
	for key, value := range patch {
		sub, isObject := value.(map[string]any)
		switch {
		case value == nil && into[key] != nil:
			delete(into, key)
		case isObject:
			deeper, ok := into[key].(map[string]any)
			if !ok {
				deeper = map[string]any{}
			}
			merge(deeper, sub)
			into[key] = deeper
		default:
			into[key] = value
		}
	}
}

// lookUp follows a path through objects and lists.
func lookUp(v any, path []string) (any, bool) {
	for _, key := range path {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[key]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// maxPlace bounds the index of a list element that put creates.
const maxPlace = 1000

// put writes a value at a path. It creates the missing objects and, for numbers in the path, lists.
func put(in map[string]any, path []string, value any) {
	in[path[0]] = placed(in[path[0]], path[1:], value)
}

func placed(at any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < maxPlace {
		list, _ := at.([]any)
		for len(list) <= i {
			list = append(list, nil)
		}
		list[i] = placed(list[i], path[1:], value)
		return list
	}
	deeper, ok := at.(map[string]any)
	if !ok {
		deeper = map[string]any{}
	}
	deeper[path[0]] = placed(deeper[path[0]], path[1:], value)
	return deeper
}
