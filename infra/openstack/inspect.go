package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/glance"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	_ vnflcm.Inspector  = (*Driver)(nil)
	_ vnflcm.MarkReader = (*Driver)(nil)
)

// Inspect implements vnflcm.Inspector: it compares the stack, its servers in Nova, networks and volumes with the record.
func (d *Driver) Inspect(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Finding, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return nil, err
	}
	stack := vnflcm.Finding{Resource: "stack", ID: op.Metadata[metaStack], Name: StackName(op.InstanceID)}
	s, err := w.find(ctx)
	switch {
	case errors.Is(err, ErrForeignStack):
		stack.Kind, stack.Detail = vnflcm.Differs, err.Error()
		return []vnflcm.Finding{stack}, nil
	case err != nil:
		return nil, err
	case s == nil:
		stack.Kind, stack.Detail = vnflcm.Missing, fmt.Sprintf("with %d servers: heal the whole VNF, which creates it again", len(op.VNFCs))
		return []vnflcm.Finding{stack}, nil
	}
	var out []vnflcm.Finding
	if fault := w.stackFault(s); fault != "" {
		stack.Kind, stack.ID, stack.Name, stack.Detail = vnflcm.Differs, s.ID, s.Name, fault
		out = append(out, stack)
	}
	now, err := w.existing(ctx, s)
	if err != nil {
		return out, err
	}
	return append(out, op.Differences(now)...), nil
}

// stackFault says how a stack is not as an operation leaves it.
func (w *work) stackFault(s *heat.Stack) string {
	var faults []string
	if !s.Status.Complete() {
		faults = append(faults, fmt.Sprintf("%s: %s", s.Status, s.Reason))
	}
	for _, tag := range w.tags() {
		if !slices.Contains(s.Tags, tag) {
			faults = append(faults, "it lacks the tag "+tag)
		}
	}
	return strings.Join(faults, "; ")
}

// existing returns the resources of the stack without the servers that Nova does not have: Heat notices their end only when it is asked
// for a check.
func (w *work) existing(ctx context.Context, s *heat.Stack) (vnflcm.Resources, error) {
	t, err := w.tree(ctx, s)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	now, err := w.resources(ctx, s, t)
	now.VNFCs = slices.DeleteFunc(now.VNFCs, func(v vnflcm.VNFC) bool { return v.Name == "" })
	return now, err
}

// Marked implements vnflcm.MarkReader: stacks and images with the tags of the driver, in the project of the VIM.
func (d *Driver) Marked(ctx context.Context, vim vnflcm.VimConnectionInfo) ([]vnflcm.Mark, error) {
	w, err := d.begin(ctx, &vnflcm.Operation{OperationData: vnflcm.OperationData{VIM: vim}})
	if err != nil {
		return nil, err
	}
	stacks, err1 := w.heat.Tagged(ctx, ownTag)
	images, err2 := w.ownImages(ctx)
	var marks []vnflcm.Mark
	for _, s := range stacks {
		for _, tag := range s.Tags {
			if StackName(tag) == s.Name {
				marks = append(marks, vnflcm.Mark{InstanceID: tag, Resource: "stack", ID: s.ID, Name: s.Name})
			}
		}
	}
	for _, i := range images {
		for _, user := range i.Users() {
			marks = append(marks, vnflcm.Mark{InstanceID: user, Resource: "image", ID: i.ID})
		}
	}
	return marks, errors.Join(err1, err2)
}

// ownImages returns the images that this driver has created; none if the VIM has no Glance.
func (w *work) ownImages(ctx context.Context) ([]glance.Image, error) {
	images, err := glance.New(w.clients)
	if errors.Is(err, ErrEndpoint) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return images.All(ctx)
}
