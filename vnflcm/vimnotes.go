package vnflcm

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// vimNotes has what the VIMRegistry shows of the VIMs of one owner beside their connections, by vimId. It is a separate record: a process of
// an earlier version that writes the record of a VIM again would lose attributes that it does not know. One record for all VIMs of an owner
// makes their names unique.
type vimNotes map[string]vimNote

type vimNote struct {
	Name        string    `json:"name,omitempty"`
	Description string    `json:"description,omitempty"`
	Created     time.Time `json:"created,omitzero"`
	Updated     time.Time `json:"updated,omitzero"`
	Source      string    `json:"source,omitempty"` // of KnownVIMs; "" if they do not have the VIM
}

// notesID returns the id of the record with the notes of an owner.
func notesID(owner string) string { return "tenant/" + url.PathEscape(owner) }

// notes reads the notes of an owner.
func (v *storeVIMs) notes(ctx context.Context, owner string) (out vimNotes, version int64, err error) {
	version, err = v.records.Get(ctx, kindVIMNotes, notesID(owner), &out)
	if errors.Is(err, ErrNotFound) {
		return vimNotes{}, 0, nil
	}
	return out, version, err
}

// putNotes adds to b that an owner has these notes.
func (v *storeVIMs) putNotes(b *store.Batch, owner string, version int64, notes vimNotes) error {
	record, err := v.records.Seal(kindVIMNotes, notesID(owner), version, notes)
	b.Put = append(b.Put, record)
	return err
}

// allNotes reads the notes of all owners, by notesID. The error that is ErrUnreadable comes with those that can be read.
func (v *storeVIMs) allNotes(ctx context.Context) (map[string]vimNotes, error) {
	out := map[string]vimNotes{}
	var faults []error
	err := v.records.EachPage(ctx, store.Query{Kind: kindVIMNotes}, func(list []store.Record) error {
		for _, stored := range list {
			var notes vimNotes
			faults = append(faults, v.records.Open(stored, &notes))
			out[stored.ID] = notes
		}
		return nil
	})
	return out, errors.Join(append(faults, err)...)
}

// putKnown registers the VIMs of a configuration. The notes name the configuration of its VIMs, and no longer of those that it had before.
func (v *storeVIMs) putKnown(ctx context.Context, list VimConnections, source string) error {
	owned := map[string]VimConnections{}
	noted, err := v.allNotes(ctx)
	if err != nil {
		return err
	}
	for id := range noted {
		if owner, err := ownerOfNotes(id); err == nil {
			owned[owner] = nil
		}
	}
	for _, vim := range list {
		owned[vim.Tenant] = append(owned[vim.Tenant], vim)
	}
	for _, owner := range sortedKeys(owned) {
		if err := v.noteKnown(ctx, owner, owned[owner], source); err != nil {
			return err
		}
	}
	return nil
}

func ownerOfNotes(id string) (string, error) { return url.PathUnescape(id[len("tenant/"):]) }

// noteKnown notes which VIMs of an owner a configuration has.
func (v *storeVIMs) noteKnown(ctx context.Context, owner string, list VimConnections, source string) error {
	return v.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		notes, version, err := v.notes(ctx, owner)
		if err != nil {
			return err
		}
		before := maps.Clone(notes)
		for vimID, note := range notes {
			if note.Source == source {
				note.Source = ""
				notes[vimID] = note
			}
		}
		for _, vim := range list {
			note := notes[vim.VimID]
			note.Source = source
			notes[vim.VimID] = note
			if err := v.takeOver(ctx, b, vim.VimID); err != nil {
				return err
			}
		}
		if maps.Equal(before, notes) {
			return nil
		}
		return v.putNotes(b, owner, version, notes)
	})
}

// takeOver adds to b that an entry that a client has registered is the operator's now.
func (v *storeVIMs) takeOver(ctx context.Context, b *store.Batch, vimID string) error {
	rec, version, err := v.read(ctx, vimID)
	if err != nil || rec.Instance != registeredByAPI {
		return ignoreNotFound(err)
	}
	rec.Instance = ""
	record, err := v.records.Seal(kindVIM, vimID, version, rec)
	b.Put = append(b.Put, record)
	return err
}

// withName returns the VIM of the owner that has a name; "" if the owner has no VIM of this name. Notes of a VIM that was removed do not count, nor do entries
// that cannot be read.
func (v *storeVIMs) withName(ctx context.Context, owner, name string, notes vimNotes) (vimID string, err error) {
	list, err := v.all(ctx)
	i := slices.IndexFunc(list, func(rec vimRecord) bool { return rec.Owner == owner && rec.name(notes[rec.VimID]) == name })
	if i < 0 {
		return "", ignoreUnreadable(err)
	}
	return list[i].VimID, nil
}

// name returns the name of a VIM: that of the notes, else that of the operation that has made the cluster, else the id.
func (rec vimRecord) name(note vimNote) string {
	var extra struct {
		Name string `json:"vim_name"`
	}
	if rec.Instance != "" && rec.Instance != registeredByAPI {
		_, _ = rec.Extra.Decode(&extra) // without a name the cluster has its id
	}
	return cmp.Or(note.Name, extra.Name, rec.VimID)
}

// removeUnused removes the notes of entries that were removed, which remain so that a cluster that is instantiated again has its name.
// If entries cannot be read, all notes remain.
func (v *storeVIMs) removeUnused(ctx context.Context, owner string, notes vimNotes) error {
	list, err := v.all(ctx)
	if err != nil {
		return ignoreUnreadable(err)
	}
	maps.DeleteFunc(notes, func(vimID string, note vimNote) bool {
		return note.Source == "" && !slices.ContainsFunc(list, func(rec vimRecord) bool { return rec.VimID == vimID && rec.Owner == owner })
	})
	return nil
}
