package vnflcm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// FindingKind says how records and the VIM differ.
type FindingKind string

// The kinds of findings.
const (
	Missing FindingKind = "missing" // the record has the resource, and it does not exist
	Stray   FindingKind = "stray"   // the resource exists with the mark of the driver, and no record has it
	Kept    FindingKind = "kept"    // terminating has left the resource on purpose, such as a claim of a volume with data
	Differs FindingKind = "differs" // the resource exists, and is not as the record has it
	Unknown FindingKind = "unknown" // the answer of a peer is missing, or a record cannot be read
	Busy    FindingKind = "busy"    // an operation has the instance locked: other findings may be its work
)

// Finding is a difference between the records of a Manager and what exists (Manager.Diagnose).
type Finding struct {
	Kind       FindingKind `json:"kind"`
	InstanceID string      `json:"vnfInstanceId,omitempty"` // of the record, or of the mark
	VimID      string      `json:"vimId,omitempty"`
	// Resource is the kind of the resource: machine, volume, network, stack, image, release, object, pods, node, vim, package,
	// operation or instance. Drivers may use others.
	Resource string `json:"resource"`
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	Detail   string `json:"detail,omitempty"` // without secrets
}

// Inspector is an InfraDriver or a MgmtDriver that compares what it has made for an instance with its record. Of an InfraDriver that
// is no Inspector the Manager compares Resources.
type Inspector interface {
	// Inspect changes nothing and returns the differences between op.Resources, op.State and what exists. An error, such as of a peer that
	// does not answer, comes with the differences that were found without it. The Manager bounds the time by ctx, and fills InstanceID and
	// VimID. Inspect is no hook: op has no request and no steps. An operation may work on the instance at the same time.
	Inspect(ctx context.Context, op *Operation) ([]Finding, error)
}

// MarkReader is an InfraDriver that marks what it makes with the id of the VNF instance.
type MarkReader interface {
	// Marked returns all that has the mark of the driver on a VIM, also of other programs that use the driver there. It changes nothing.
	Marked(ctx context.Context, vim VimConnectionInfo) ([]Mark, error)
}

// Mark is a resource with the mark of an InfraDriver.
type Mark struct {
	InstanceID string // that the mark names
	Resource   string // as in Finding
	ID, Name   string
	Kept       bool // terminating leaves the resource on purpose
}

// Differences compares the VNFCs, virtual links and storages of a record with those that exist now.
func (r Resources) Differences(now Resources) (out []Finding) {
	compareResources(r.VNFCs, now.VNFCs, func(v VNFC) Finding {
		return Finding{Resource: "machine", ID: v.ID, Name: v.Name, Detail: v.ResourceID}
	}, &out)
	compareResources(r.VirtualLinks, now.VirtualLinks, func(l VirtualLink) Finding {
		return Finding{Resource: "network", ID: l.ID, Name: l.VLD, Detail: l.ResourceID}
	}, &out)
	compareResources(r.Storages, now.Storages, func(s Storage) Finding {
		return Finding{Resource: "volume", ID: s.ID, Name: s.Descriptor, Detail: s.ResourceID}
	}, &out)
	return out
}

// compareResources adds to out what is in one of the lists only, or has another resource in now. Detail of a description is the id on the VIM.
func compareResources[E any](record, now []E, describe func(E) Finding, out *[]Finding) {
	exists := map[string]Finding{}
	for _, e := range now {
		found := describe(e)
		exists[found.ID] = found
	}
	for _, e := range record {
		want := describe(e)
		found, there := exists[want.ID]
		delete(exists, want.ID)
		switch {
		case !there:
			want.Kind, want.Detail = Missing, "id on the VIM "+want.Detail
		case found.Detail != want.Detail:
			want.Kind, want.Detail = Differs, fmt.Sprintf("id on the VIM %s, in the record %s", found.Detail, want.Detail)
		default:
			continue
		}
		*out = append(*out, want)
	}
	for _, id := range sortedKeys(exists) {
		found := exists[id]
		found.Kind, found.Detail = Stray, "id on the VIM "+found.Detail
		*out = append(*out, found)
	}
}

// sortFindings puts the findings of an instance together.
func sortFindings(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	return list
}
