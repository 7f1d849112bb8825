package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// PlanPackage implements vnflcm.PackageChanger. It compares the definition that the new package gives the stack with the one that the stack
// has: templates, files, and values of parameters. Heat's preview of an update is not asked: it fails for templates with scaling groups.
func (d *Driver) PlanPackage(ctx context.Context, op *vnflcm.Operation) (plan vnflcm.PackagePlan, err error) {
	for _, name := range access.Unknown(op.VIM) {
		op.Log.WarnContext(ctx, "an attribute of vimConnectionInfo is not known", "attribute", name)
	}
	w, err := d.begin(ctx, op)
	if err != nil {
		return plan, err
	}
	s, err := w.find(ctx)
	if err == nil && s == nil {
		err = fmt.Errorf("%w: %s; heal the whole VNF to create the stack again", ErrNoStack, StackName(op.InstanceID))
	}
	if err != nil {
		return plan, err
	}
	t, err := w.tree(ctx, s)
	if err != nil {
		return plan, err
	}
	r, err := w.running(ctx, s)
	if err != nil {
		return plan, err
	}
	c := comparison{work: w, tree: t}
	if err := c.open(ctx, r); err != nil {
		return plan, err
	}
	plan = c.plan()
	return plan, errors.Join(append(c.faults, d.planImages(ctx, op, nil, nil))...)
}

// comparison finds the differences between the definitions of two packages.
type comparison struct {
	*work
	tree     tree
	change   vnflcm.Change // numbers of VNFCs only
	from, to *hot.Template
	effects  []hot.Effect
	faults   []error
}

// open computes the two definitions, and what Heat does to change one into the other.
func (c *comparison) open(ctx context.Context, r running) error {
	stored, err := readSides(ctx, c.op)
	if err != nil {
		return err
	}
	c.change = c.numbers()
	var from, to packageSide
	isContinued := stored.isContinued(c.op, r)
	if isContinued {
		from, to = stored.Origin, stored.Target
		if c.op.Package.VNFD().ID == from.VNFD {
			return c.compare(to, from)
		}
	} else if from, err = c.originSide(ctx, r, c.tree); err != nil {
		return err
	}
	images, err := c.plannedImages(ctx)
	if err != nil {
		return err
	}
	def, err := c.defineTarget(ctx, &from, c.change, images)
	if err != nil {
		return err
	}
	to.Template, to.Files, to.Parameters = def.Template.Text(), def.Template.Files(), def.Parameters
	if isContinued && !c.op.GrantPending { // a grant may give values that the stack has
		if err := c.checkChanged(stored.Target, to); err != nil {
			return err
		}
	}
	return c.compare(from, to)
}

func (c *comparison) compare(from, to packageSide) error {
	var err, errTo error
	c.from, err = from.parse()
	c.to, errTo = to.parse()
	if err := errors.Join(err, errTo); err != nil {
		return err
	}
	c.effects = c.to.Effects(to.Parameters, c.from, from.Parameters)
	return nil
}

// plannedImages returns the images of op.Package that are uploaded already: those that op.Former has under the same checksum.
func (c *comparison) plannedImages(ctx context.Context) (map[string]string, error) {
	out, err := uploadedImages(ctx, c.op)
	if err != nil {
		return nil, err
	}
	former, err := imagesFrom(ctx, c.op, c.op.Former.Package, true)
	if err != nil {
		return nil, err
	}
	before, now := filler{op: &vnflcm.Operation{OperationData: vnflcm.OperationData{Flavour: c.op.Former.Flavour}}}, filler{op: c.op}
	for name, id := range former {
		was, is := before.declaredImage(name), now.declaredImage(name)
		if out[name] == "" && was != nil && is != nil && was.Checksum != "" && was.Checksum == is.Checksum {
			out[name] = id
		}
	}
	return out, nil
}

// successor returns the VDU of a VNFC in op.Package. A VDU that the policy maps to another name has other resources in Heat: its VNFCs are
// removed and added.
func (c *comparison) successor(v vnflcm.VNFC) string {
	if c.op.VersionOf(v).Package != c.op.Package && c.op.Successor(tosca.MappedVDU, v.VDU) != v.VDU {
		return ""
	}
	return v.VDU
}

// numbers returns the VNFCs that are added and removed because their VDU has another number of VNFCs in op.Package.
func (c *comparison) numbers() (change vnflcm.Change) {
	want, err := c.op.Instances()
	if err != nil {
		c.faults = append(c.faults, err)
		return change
	}
	for _, v := range c.op.VNFCs {
		if c.op.Flavour.VDU(c.successor(v)) == nil {
			change.Removed = append(change.Removed, v)
		}
	}
	for _, vdu := range c.op.Flavour.VDUs {
		have := slices.DeleteFunc(slices.Clone(c.op.VNFCs), func(v vnflcm.VNFC) bool { return c.successor(v) != vdu.ID })
		slices.SortFunc(have, newestFirst)
		if n := len(have) - want[vdu.ID]; n > 0 {
			change.Removed = append(change.Removed, have[:n]...)
		}
		for _, v := range announced(c.op, vdu.ID, have, want[vdu.ID]-len(have)) {
			change.Added = append(change.Added, c.withID(v))
		}
	}
	return change
}

// withID gives an added VNFC an id.
func (c *comparison) withID(v vnflcm.VNFC) vnflcm.VNFC {
	v.ID = uuid.NewSHA1(uuid.NameSpaceOID, []byte(c.op.InstanceID+"/"+c.op.Package.VNFD().ID+"/"+v.Name)).String()
	return v
}

// plan returns the units: removed VNFCs, then those that change, the oldest first, then added ones, VDU by VDU.
func (c *comparison) plan() (plan vnflcm.PackagePlan) {
	removed, added := slices.Clone(c.change.Removed), slices.Clone(c.change.Added)
	var modified []vnflcm.PackageUnit
	vnfcs := slices.Clone(c.op.VNFCs)
	slices.SortFunc(vnfcs, func(a, b vnflcm.VNFC) int { return newestFirst(b, a) })
	for _, v := range vnfcs {
		isRemoved := slices.ContainsFunc(removed, func(r vnflcm.VNFC) bool { return r.ID == v.ID })
		if isRemoved || c.op.VersionOf(v).Package == c.op.Package {
			continue
		}
		path := c.pathOf(v)
		if path == nil || !slices.ContainsFunc(c.to.Servers(), func(p []string) bool { return slices.Equal(p, path) }) {
			removed, added = append(removed, v), append(added, c.withID(vnflcm.VNFC{VDU: v.VDU, Name: v.Name}))
			continue
		}
		c.checkGroup(path[0])
		unit, losses := c.unit(v, path)
		plan.Losses = append(plan.Losses, losses...)
		if len(unit.Details) > 0 {
			modified = append(modified, unit)
		}
	}
	for _, v := range removed {
		plan.Units = append(plan.Units, unitOf(v, vnflcm.VnfcRemoved))
	}
	for _, vdu := range wholeFlavour(c.op).VDUs {
		for _, u := range modified {
			if u.VDUs[0] == vdu.ID {
				plan.Units = append(plan.Units, u)
			}
		}
	}
	for _, v := range added {
		plan.Units = append(plan.Units, unitOf(v, vnflcm.VnfcAdded))
	}
	plan.Losses = append(plan.Losses, c.sharedLosses()...)
	c.checkBatches(plan.Units)
	return plan
}

func unitOf(v vnflcm.VNFC, change vnflcm.ChangeType) vnflcm.PackageUnit {
	return vnflcm.PackageUnit{ID: v.ID, Kind: vnflcm.UnitVNFC, Name: v.Name, VDUs: []string{v.VDU}, Change: change}
}

// pathOf returns the path of a VNFC's server in the template, nil if the stack does not have it.
func (c *comparison) pathOf(v vnflcm.VNFC) []string {
	for _, s := range c.tree.servers() {
		if s.vnfc != v.ID {
			continue
		}
		path := slices.Clone(s.Path)
		if s.group != nil && len(path) > 1 {
			path = slices.Delete(path, 1, 2)
		}
		return path
	}
	return nil
}

// checkGroup refuses a group whose type changes: Heat replaces it with all of its members.
func (c *comparison) checkGroup(name string) {
	was, is := c.from.Resource(name), c.to.Resource(name)
	if was.Type != is.Type && (isGroup(was.Type) || isGroup(is.Type)) {
		c.fault(name, "%s becomes %s (%s:%d): Heat would replace all of its servers at once", was.Type, is.Type, is.File, is.Line)
	}
}

func (c *comparison) fault(name, format string, args ...any) {
	c.faults = append(c.faults, &vnflcm.ParamError{Path: "vnfdId", Value: c.op.Package.VNFD().ID, Reason: fmt.Sprintf("resource "+name+": "+format, args...)})
}

// checkBatches refuses to change members of a ResourceGroup in several batches: at each update Heat gives all of its members one definition.
func (c *comparison) checkBatches(units []vnflcm.PackageUnit) {
	numbers := map[string]int{}
	for _, u := range units {
		at := c.holderAt(u)
		if r := c.to.Resource(at); r != nil && r.Type == hot.ResourceGroup {
			numbers[at]++
		}
	}
	var params struct {
		MaxUnavailable int `json:"max_unavailable"`
	}
	_, _ = c.op.ChangeVnfPkg.AdditionalParams.Decode(&params) // the Manager reports faults
	for name, n := range numbers {
		if n > max(params.MaxUnavailable, 1) {
			c.fault(name, "the %d members of an OS::Heat::ResourceGroup change at once: additionalParams.max_unavailable must allow it", n)
		}
	}
}

// holderAt returns the resource of the base HOT with the server of a unit.
func (c *comparison) holderAt(u vnflcm.PackageUnit) string {
	for _, s := range c.tree.servers() {
		if s.vnfc == u.ID {
			return s.Path[0]
		}
	}
	return holderOf(c.to, u)
}

// unit describes what changes of a VNFC, and what it loses.
func (c *comparison) unit(v vnflcm.VNFC, path []string) (unit vnflcm.PackageUnit, losses []vnflcm.DataLoss) {
	unit = unitOf(v, vnflcm.VnfcModified)
	for _, e := range c.effects {
		if !c.concerns(e, path) {
			continue
		}
		unit.Method = stronger(unit.Method, methodOf(e))
		unit.Details = append(unit.Details, detailsOf(e)...)
		if text := lossOf(e); text != "" {
			losses = append(losses, vnflcm.DataLoss{Resource: text + " of " + v.Label(), Consent: vnflcm.AllowDataLoss, Name: v.VDU})
		}
	}
	return unit, losses
}

// concerns reports whether an effect is on the server with the path, or on a resource that belongs to it.
func (c *comparison) concerns(e hot.Effect, path []string) bool {
	if e.Type == typeServer {
		return slices.Equal(e.Path, path)
	}
	if len(e.Path) > 1 {
		return e.Path[0] == path[0]
	}
	return c.ownerOf(e) == path[0]
}

// ownerOf returns the resource with servers to which a resource of the base HOT belongs, "" for a shared one.
func (c *comparison) ownerOf(e hot.Effect) string {
	if e.Action == hot.Remove {
		return c.from.Owner(e.Path[0])
	}
	return c.to.Owner(e.Path[0])
}

// sharedLosses returns the losses of resources that belong to no server.
func (c *comparison) sharedLosses() (out []vnflcm.DataLoss) {
	for _, e := range c.effects {
		if text := lossOf(e); text != "" && len(e.Path) == 1 && e.Type != typeServer && c.ownerOf(e) == "" {
			out = append(out, vnflcm.DataLoss{Resource: text, Consent: vnflcm.AllowDataLoss, Name: e.Path[0]})
		}
	}
	return out
}

// methods are the methods in the order of their strength.
var methods = []vnflcm.UnitMethod{vnflcm.MethodNone, vnflcm.MethodInPlace, vnflcm.MethodRebuild, vnflcm.MethodReplace}

func stronger(a, b vnflcm.UnitMethod) vnflcm.UnitMethod {
	return methods[max(slices.Index(methods, a), slices.Index(methods, b))]
}

func methodOf(e hot.Effect) vnflcm.UnitMethod {
	switch {
	case e.Type == typeServer && e.Action == hot.Replace:
		return vnflcm.MethodReplace
	case e.Type == typeServer && e.Action == hot.Rebuild:
		return vnflcm.MethodRebuild
	}
	return vnflcm.MethodInPlace
}

// detailsOf describes an effect for readers. Only images and flavors have values: others may be secrets.
func detailsOf(e hot.Effect) (out []vnflcm.UnitDetail) {
	name := e.Path[len(e.Path)-1]
	if e.Action == hot.Add || e.Action == hot.Remove {
		change := map[hot.Action]vnflcm.ChangeType{hot.Add: vnflcm.VnfcAdded, hot.Remove: vnflcm.VnfcRemoved}[e.Action]
		return []vnflcm.UnitDetail{{Name: kindOf(e.Type) + " " + name, Change: change}}
	}
	if e.Type != typeServer {
		return []vnflcm.UnitDetail{{Name: kindOf(e.Type) + " " + name, Change: vnflcm.VnfcModified}}
	}
	for _, p := range e.Properties {
		d := vnflcm.UnitDetail{Name: p.Name, Change: vnflcm.VnfcModified}
		switch p.Name {
		case "image":
			d.From, d.To = p.From, p.To
		case "flavor":
			d.Name, d.From, d.To = "flavour", p.From, p.To
		}
		out = append(out, d)
	}
	return out
}

// kindOf names a type of resources for readers.
func kindOf(kind string) string {
	switch kind {
	case typePort:
		return "port"
	case typeVolume:
		return "volume"
	case typeFloatingIP:
		return "floating address"
	case typeServer:
		return "server"
	}
	return "resource"
}

// lossOf names the data that ends with an effect, "" if none does. That an image replaces the disk of its machine is no loss.
func lossOf(e hot.Effect) string {
	name := e.Path[len(e.Path)-1]
	ends := e.Action == hot.Replace || e.Action == hot.Remove
	switch e.Type {
	case typeVolume:
		if ends {
			return "the volume " + name
		}
	case typePort:
		if ends {
			return "the port " + name + " with its address"
		}
		if slices.ContainsFunc(e.Properties, func(p hot.Property) bool { return p.Name == "fixed_ips" }) {
			return "the address of the port " + name
		}
	case typeFloatingIP:
		if ends {
			return "the floating address " + name
		}
	case typeServer:
		isNewImage := slices.ContainsFunc(e.Properties, func(p hot.Property) bool { return p.Name == "image" })
		if e.Action == hot.Replace && !isNewImage {
			return "the local disk"
		}
	}
	return ""
}
