package vnflcm

import (
	"context"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// NewestFormat is the newest format of a store that this version can write.
const NewestFormat = newestFormat

// KnowFormat configures a process as if its version of vnfkit supported formats up to newest.
func KnowFormat(c *Config, newest int) { c.format = newest }

// SetFormat writes the format of a store, as a migration of another version would.
func SetFormat(ctx context.Context, m *Manager, number int, migrating bool) error {
	stored, err := m.cfg.Store.Get(ctx, ledger.KindMeta, "key")
	if err != nil {
		return err
	}
	var b store.Batch
	if err := m.records.PutFormat(&b, stored.Version, ledger.Format{Number: number, Migrating: migrating}); err != nil {
		return err
	}
	return m.cfg.Store.Apply(ctx, b)
}
