package openstack

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// sidesKey is the state key of the packageSides.
const sidesKey = "openstack/packages"

// packageSides are the two definitions of a stack between which a VNF changes. They are stored before the first change, and kept: rolling
// back and a VNF that stays mixed need both.
type packageSides struct {
	// Operation is the last CHANGE_VNFPKG that used them.
	Operation string `json:"operation"`
	// Origin is the definition that the stack had, Target the one that the change led to first.
	Origin packageSide `json:"origin"`
	Target packageSide `json:"target"`
	// Given says that the stack has got the parameters of Target. Completed says that it has got, or was getting, all of Target: values of
	// parameters that both have are then those of Target.
	Given     bool `json:"given,omitempty"`
	Completed bool `json:"completed,omitempty"`
}

// packageSide is the definition of a stack by one package.
type packageSide struct {
	VNFD       string            `json:"vnfd"`
	Template   string            `json:"template"`
	Files      map[string]string `json:"files"`
	Parameters map[string]any    `json:"parameters"` // those whose values are known
	// Members are the definitions of the members of AutoScalingGroups: of Origin by group and member, of Target by group.
	Members map[string]json.RawMessage `json:"members,omitempty"`
	// Hidden are, of Origin, the values of the hidden parameters that Target overwrites. Heat does not show them.
	Hidden map[string]any `json:"hidden,omitempty"`
}

func (s packageSide) parse() (*hot.Template, error) { return hot.Parse(s.Template, s.Files) }

func (s packageSide) definition() heat.Definition {
	return heat.Definition{Template: s.Template, Files: s.Files, Parameters: s.Parameters}
}

// readSides returns the stored sides, nil if there are none.
func readSides(ctx context.Context, op *vnflcm.Operation) (*packageSides, error) {
	sides := new(packageSides)
	err := op.State().Get(ctx, sidesKey, sides)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil, nil //nolint:nilnil // there are none
	}
	return sides, err
}

// isContinued reports whether an operation continues the change that the sides are for: the VNF is mixed, or its stack has a definition
// between the two.
func (s *packageSides) isContinued(op *vnflcm.Operation, r running) bool {
	if s == nil {
		return false
	}
	own, other := op.Package.VNFD().ID, op.Former.Package.VNFD().ID
	if (s.Origin.VNFD != own || s.Target.VNFD != other) && (s.Origin.VNFD != other || s.Target.VNFD != own) {
		return false
	}
	return r.template.InTransition() || slices.ContainsFunc(op.VNFCs, func(v vnflcm.VNFC) bool { return op.VersionOf(v).Package == op.Package })
}

// running is the definition that a stack has.
type running struct {
	stack    *heat.Stack
	text     heat.Definition
	template *hot.Template
}

func (w *work) running(ctx context.Context, s *heat.Stack) (r running, err error) {
	r.stack = s
	if r.text, err = w.heat.Definition(ctx, s); err == nil {
		r.template, err = hot.Parse(r.text.Template, r.text.Files)
	}
	return r, err
}

// sides returns the sides that an operation works with. Those of an earlier change hold while the VNF is mixed. They are not stored yet.
func (w *work) sides(ctx context.Context, r running, t tree) (*packageSides, error) {
	stored, err := readSides(ctx, w.op)
	if err != nil || stored != nil && stored.Operation == w.op.ID {
		return stored, err
	}
	sides := &packageSides{Operation: w.op.ID}
	if stored.isContinued(w.op, r) {
		sides.Origin, sides.Target, sides.Completed = stored.Origin, stored.Target, stored.Completed
		if w.op.Package.VNFD().ID == sides.Origin.VNFD {
			return sides, nil
		}
	} else if sides.Origin, err = w.originSide(ctx, r, t); err != nil {
		return nil, err
	} else if err := w.noteHostKeys(ctx, &sides.Origin, r.template, t); err != nil {
		return nil, err
	}
	sides.Target, err = w.targetSide(ctx, &sides.Origin, t)
	return sides, err
}

// originSide describes a stack as it runs.
func (w *work) originSide(ctx context.Context, r running, t tree) (packageSide, error) {
	side := packageSide{VNFD: w.op.Former.Package.VNFD().ID, Template: r.text.Template, Files: r.text.Files, Members: map[string]json.RawMessage{}}
	var err error
	if side.Parameters, err = decoded(r.stack.Parameters, r.template); err != nil {
		return side, err
	}
	for _, g := range r.template.Groups() {
		if g.Type != hot.AutoScalingGroup {
			continue
		}
		members, err := w.membersOf(ctx, t, g.Name)
		if err != nil {
			return side, err
		}
		for name, definition := range members.resources {
			side.Members[g.Name+"/"+name] = definition
		}
	}
	return side, nil
}

// noteHostKeys adds the host keys of the stack to the hidden parameters of a side. Keys of VDUs that only the stack has are left out.
func (w *work) noteHostKeys(ctx context.Context, side *packageSide, template *hot.Template, t tree) error {
	before := *w
	op := *w.op
	op.Flavour, op.Change = w.op.Former.Flavour, vnflcm.Change{}
	before.op = &op
	def := Definition{Template: template}
	err := before.fillHostKeys(ctx, &def, t.servers())
	side.Hidden = def.Parameters
	return err
}

// targetSide describes the stack by op.Package.
func (w *work) targetSide(ctx context.Context, origin *packageSide, t tree) (packageSide, error) {
	side := packageSide{VNFD: w.op.Package.VNFD().ID}
	images, err := uploadedImages(ctx, w.op)
	if err != nil {
		return side, err
	}
	def, err := w.defineTarget(ctx, origin, changeOf(w.op), images)
	if err != nil {
		return side, err
	}
	keys := *w
	unhealed := *w.op
	unhealed.Change = vnflcm.Change{}
	keys.op = &unhealed
	if err := keys.fillHostKeys(ctx, &def, t.servers()); err != nil {
		return side, err
	}
	side.Template, side.Files, side.Parameters = def.Template.Text(), def.Template.Files(), def.Parameters
	return side, nil
}

// defineTarget computes the definition that op.Package gives the stack, and notes in origin what it overwrites. images are those that are
// uploaded.
func (w *work) defineTarget(ctx context.Context, origin *packageSide, planned vnflcm.Change, images map[string]string) (Definition, error) {
	op := *w.op
	op.Change = planned
	template, err := hot.Load(op.Package, op.Flavour.ID)
	if err != nil {
		return Definition{}, err
	}
	req := UserDataRequest{Op: &op, Template: template, Current: map[string]any{}, Images: images}
	for _, p := range template.Parameters() {
		if value, known := origin.Parameters[p.Name]; known {
			req.Current[p.Name] = value
		}
	}
	def, err := w.callUserData(ctx, req)
	if err != nil {
		return def, err
	}
	was, err := origin.parse()
	if err == nil {
		err = w.keepParameters(&def, origin, was)
	}
	if err == nil {
		def.Template.DistinctConfigs(def.Parameters, was, origin.Parameters)
		def.Template.DistinctFiles(origin.Files)
	}
	return def, err
}

// changeOf returns what the units of the plan do to VNFCs.
func changeOf(op *vnflcm.Operation) (c vnflcm.Change) {
	for _, u := range op.PackagePlan.Units {
		i := slices.IndexFunc(op.VNFCs, func(v vnflcm.VNFC) bool { return v.ID == u.ID })
		switch {
		case u.Change == vnflcm.VnfcAdded:
			c.Added = append(c.Added, vnflcm.VNFC{ID: u.ID, VDU: u.VDUs[0], Name: u.Name})
		case u.Change == vnflcm.VnfcRemoved && i >= 0:
			c.Removed = append(c.Removed, op.VNFCs[i])
		}
	}
	return c
}

// keptParameters returns the parameters of the target whose values the stack has, and that the driver cannot or need not give.
func (s *packageSides) keptParameters(from, to *hot.Template) (out []string) {
	declared := map[string]bool{}
	for _, p := range from.Parameters() {
		declared[p.Name] = true
	}
	for _, p := range to.Parameters() {
		if _, given := s.Target.Parameters[p.Name]; !given && declared[p.Name] {
			out = append(out, p.Name)
		}
	}
	return out
}

// originParameters returns the values of the origin's parameters. Hidden ones are among them only if the target has overwritten them: else the
// stack has them.
func (s *packageSides) originParameters() map[string]any {
	out := map[string]any{}
	merge(out, s.Origin.Parameters)
	if s.Completed {
		maps.Copy(out, s.Origin.Hidden)
	}
	return out
}

// transition returns the definition with some resources of the target.
func (s *packageSides) transition(x hot.Transition) (def heat.Definition, err error) {
	if x.From, err = s.Origin.parse(); err != nil {
		return def, err
	}
	if x.To, err = s.Target.parse(); err != nil {
		return def, err
	}
	x.Kept = s.keptParameters(x.From, x.To)
	template, err := x.Template()
	if err != nil {
		return def, err
	}
	def = heat.Definition{Template: template.Text(), Files: template.Files(), Parameters: s.originParameters()}
	for name, value := range s.Target.Parameters {
		if !slices.Contains(x.Kept, name) {
			def.Parameters[name+hot.NextSuffix] = value
		}
	}
	return def, nil
}

// wholeFlavour returns the flavour with what only the other package of the VNF has: its VNFCs run beside those of op.Package.
func wholeFlavour(op *vnflcm.Operation) *tosca.Flavour {
	whole := *op.Flavour
	add := func(f *tosca.Flavour) {
		whole.VDUs = together(whole.VDUs, f.VDUs, func(v tosca.VDU) string { return v.ID })
		whole.CPs = together(whole.CPs, f.CPs, func(c tosca.ConnectionPoint) string { return c.ID })
		whole.Storages = together(whole.Storages, f.Storages, func(s tosca.Storage) string { return s.ID })
	}
	if op.Former != nil {
		add(op.Former.Flavour)
	}
	for _, v := range op.VNFCs {
		if version := op.VersionOf(v); version.Flavour != nil && version.Package != op.Package {
			add(version.Flavour)
			break
		}
	}
	return &whole
}

// together returns the items of a list, and those of another one with other ids.
func together[E any](list, others []E, id func(E) string) []E {
	out := slices.Clone(list)
	for _, o := range others {
		if !slices.ContainsFunc(list, func(e E) bool { return id(e) == id(o) }) {
			out = append(out, o)
		}
	}
	return out
}
