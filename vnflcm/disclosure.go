package vnflcm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// pathSet is a set of paths of attributes, each split into its segments: a key, "[]" for every item of a list,
// "*" for every key of an object.
type pathSet [][]string

const listItem = "[]"

func newPathSet(paths ...string) pathSet {
	out := make(pathSet, len(paths))
	for i, path := range paths {
		out[i] = strings.Split(strings.TrimPrefix(strings.ReplaceAll(path, listItem, "."+listItem), "."), ".")
	}
	return out
}

// key returns the rules below a key of an object. A key with a dot is one segment, so that it cannot pass for the path
// of an attribute further down.
func (s pathSet) key(key string) (below pathSet) {
	for _, path := range s {
		if len(path) > 0 && path[0] != listItem && (path[0] == key || path[0] == "*") {
			below = append(below, path[1:])
		}
	}
	return below
}

// items returns the rules for the items of a list.
func (s pathSet) items() (below pathSet) {
	for _, path := range s {
		if len(path) > 0 && path[0] == listItem {
			below = append(below, path[1:])
		}
	}
	return below
}

// hasLeaf reports whether a path ends here.
func (s pathSet) hasLeaf() bool {
	return slices.ContainsFunc(s, func(path []string) bool { return len(path) == 0 })
}

// under returns the paths below a path without lists or wildcards.
func (s pathSet) under(path string) pathSet {
	for segment := range strings.SplitSeq(path, ".") {
		if segment == listItem {
			s = s.items()
		} else {
			s = s.key(segment)
		}
	}
	return s
}

// disclosure says which leaves of a document are shown. The nil disclosure shows none.
type disclosure struct {
	// standard are attributes that SOL003 defines: shown, with secrets in them masked as in any text.
	standard pathSet
	// public are free-form attributes that are shown; one that quotes a secret is masked as a whole.
	public pathSet
	// secret are declared to be secret, also where they are in public.
	secret pathSet
	// known are secrets from elsewhere, which shown leaves must not quote.
	known []string
}

// document returns a JSON object with its keys and its structure, and *** in the place of the leaves that are not
// shown.
func (d *disclosure) document(raw json.RawMessage) (json.RawMessage, error) {
	var tree any
	if err := decodeUseNumber(raw, &tree); err != nil {
		return nil, err
	}
	if d == nil {
		d = &disclosure{}
	}
	mask := newMasker(nil)
	if len(d.standard)+len(d.public) > 0 {
		mask = newMasker(slices.Concat(d.known, secretsIn(tree, d.secret, d.public)))
	}
	return json.Marshal(d.masked(tree, mask))
}

func (d *disclosure) masked(tree any, mask *masker) any {
	switch t := tree.(type) {
	case nil:
		return nil
	case map[string]any:
		for key, child := range t {
			below := disclosure{standard: d.standard.key(key), public: d.public.key(key), secret: d.secret.key(key)}
			t[key] = below.masked(child, mask)
		}
		return t
	case []any:
		below := disclosure{standard: d.standard.items(), public: d.public.items(), secret: d.secret.items()}
		for i, child := range t {
			t[i] = below.masked(child, mask)
		}
		return t
	}
	text, isText := tree.(string)
	switch {
	case d.standard.hasLeaf() && isText:
		return mask.apply(text)
	case d.standard.hasLeaf():
		return tree
	case d.public.hasLeaf() && !d.secret.hasLeaf() && mask.apply(fmt.Sprint(tree)) == fmt.Sprint(tree):
		return tree
	}
	return Mask
}

// PublicParams is implemented by drivers with additionalParams that are not secret, such as the name of a namespace:
// documents (VnfLcmOpOcc.operationParams) show the values at these paths, and every other value as ***. The paths have
// the form of SecretParams, and "*" stands for every key of an object. A path that a driver of the same VNF declares as
// secret stays secret. PublicPaths derives the paths from a parameter struct.
type PublicParams interface{ PublicParams() []string }

// declared returns what drivers declare about additionalParams.
func declared(drivers ...any) (secret, public []string) {
	for _, driver := range drivers {
		if d, ok := driver.(SecretParams); ok {
			secret = append(secret, d.SecretParams()...)
		}
		if d, ok := driver.(PublicParams); ok {
			public = append(public, d.PublicParams()...)
		}
	}
	return secret, public
}

func within(prefix string, paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = prefix + "." + path
	}
	return out
}

// The free-form attributes of requests and instances.
const (
	additionalParamsPath = "additionalParams"
	extensionsPath       = "extensions"
	configurablePath     = "vnfConfigurableProperties"
	vimPath              = "vimConnectionInfo.[]."
	// vnfcPropertiesPath has the properties of VNFCs, also where a document has them at another path.
	vnfcPropertiesPath = "vnfcInfoModifications.[].vnfcConfigurableProperties"
)

// checkPublicParams finds paths of Config.PublicParams that lie outside of the free-form attributes: a misspelled path
// would silently show nothing.
func checkPublicParams(paths []string) error {
	var faults []error
	for _, path := range paths {
		if !slices.ContainsFunc([]string{additionalParamsPath + ".", extensionsPath + ".", configurablePath + ".", "vimConnectionInfo[].interfaceInfo.",
			"vimConnectionInfo[].accessInfo.", "vimConnectionInfo[].extra.", "vnfcInfoModifications[].vnfcConfigurableProperties."}, func(prefix string) bool {
			return strings.HasPrefix(path, prefix) && len(path) > len(prefix)
		}) {
			faults = append(faults, fmt.Errorf("vnflcm: Config.PublicParams: %q is no attribute of additionalParams, extensions, "+
				"vnfConfigurableProperties, vnfcInfoModifications[].vnfcConfigurableProperties or vimConnectionInfo[].interfaceInfo, .accessInfo or .extra", path))
		}
	}
	return errors.Join(faults...)
}

// standardAttributes are the attributes of each operation's request that SOL003 defines.
var standardAttributes = sync.OnceValue(func() map[LcmOperation]pathSet {
	out := map[LcmOperation]pathSet{}
	for kind, request := range map[LcmOperation]any{OpInstantiate: InstantiateVnfRequest{}, OpScale: ScaleVnfRequest{}, OpHeal: HealVnfRequest{},
		OpScaleToLevel: ScaleVnfToLevelRequest{}, OpTerminate: TerminateVnfRequest{}, OpChangeExtConn: ChangeExtVnfConnectivityRequest{}, OpOperate: OperateVnfRequest{}, OpModifyInfo: VnfInfoModificationRequest{}, OpChangeVnfPkg: ChangeCurrentVnfPkgRequest{},
		OpCreateSnapshot: CreateVnfSnapshotRequest{}, OpRevertToSnapshot: RevertToVnfSnapshotRequest{}} {
		out[kind] = newPathSet(PublicPaths(request)...)
	}
	out[OpModifyInfo] = append(out[OpModifyInfo], newPathSet(append(PublicPaths(MaintainVnfRequest{}), "until")...)...)
	return out
})

// occurrence returns an operation as users see it.
func (m *Manager) occurrence(rec *operationRecord) *VnfLcmOpOcc {
	drivers := []any{m.cfg.infra(rec.VIMType)}
	for _, name := range rec.Drivers {
		drivers = append(drivers, m.cfg.Mgmt[name])
	}
	secret, public := declared(drivers...)
	if rec.Package != nil {
		public = append(public, PublicPaths(PackageChangeOptions{})...)
	}
	d := &disclosure{standard: standardAttributes()[rec.Occ.Operation], secret: newPathSet(within(additionalParamsPath, secret)...),
		public: newPathSet(slices.Concat(m.cfg.PublicParams, within(additionalParamsPath, public))...)}
	out := rec.Occ
	if request, is := rec.maintenance(); is {
		out.OperationParams, _ = NewParams(request) // as it was read
	}
	out.Tenant, out.VnfSnapshotInfoID = rec.VNF.Tenant, rec.snapshotInfoID()
	out.CanRollBack = rec.Occ.OperationState == FailedTemp && rec.canRollBack()
	out.OperationParams.view = d
	if info := out.ChangedInfo; info != nil && len(m.cfg.PublicParams) > 0 {
		shown := *info
		attributes := map[*Params]string{&shown.Extensions: extensionsPath, &shown.VnfConfigurableProperties: configurablePath}
		shown.VnfcInfoModifications = slices.Clone(info.VnfcInfoModifications)
		for i := range shown.VnfcInfoModifications {
			attributes[&shown.VnfcInfoModifications[i].VnfcConfigurableProperties] = vnfcPropertiesPath
		}
		shown.VimConnectionInfo = disclose(newPathSet(m.cfg.PublicParams...), info.VimConnectionInfo, attributes)
		out.ChangedInfo = &shown
	}
	if info := out.ModificationsTriggeredByVnfPkgChange; info != nil && len(m.cfg.PublicParams) > 0 {
		shown := *info
		disclose(newPathSet(m.cfg.PublicParams...), nil, map[*Params]string{&shown.Extensions: extensionsPath, &shown.VnfConfigurableProperties: configurablePath})
		out.ModificationsTriggeredByVnfPkgChange = &shown
	}
	return &out
}

// disclose returns connections with the values that users may see, and sets the visible values in attributes, which has
// the paths of free-form attributes.
//
// known are secrets that the shown values must not quote, in addition to the secrets found here.
func disclose(public pathSet, vims VimConnections, attributes map[*Params]string, known ...string) VimConnections {
	vims = slices.Clone(vims)
	params := map[*Params]pathSet{}
	for p, path := range attributes {
		params[p] = public.under(path)
	}
	for i := range vims {
		v := &vims[i]
		maps.Copy(params, map[*Params]pathSet{&v.InterfaceInfo: public.under(vimPath + "interfaceInfo"),
			&v.AccessInfo: public.under(vimPath + "accessInfo"), &v.Extra: public.under(vimPath + "extra")})
	}
	for p, paths := range params {
		known = append(known, p.secrets(nil, paths)...)
	}
	for p, paths := range params {
		p.view = &disclosure{public: paths, known: known}
	}
	return vims
}
