package vnflcm

import (
	"context"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
)

// Exclusively calls work in one of all processes that call it with the same name on the same Store, for work that must
// not be done twice at a time, such as sending notifications. The other calls wait. When the working process has died,
// or has lost the store, another process calls work after the LeaseTTL of the first.
//
// The context of work ends with ctx, and with ErrLeased before another process may call work; Exclusively then waits
// for its next turn. It returns when work has returned for another reason, when ctx has ended, or ErrShutdown when the
// Manager is closed. If a process is stopped during work, it may execute one more action when it continues: work must
// tolerate that.
func (m *Manager) Exclusively(ctx context.Context, name string, work func(context.Context) error) error {
	m.startWatching(ctx)
	l := ledger.Exclusive{Ledger: m.records.Ledger, TTL: m.cfg.LeaseTTL, Log: m.cfg.Logger, Changed: m.changed.wait, Closed: m.isClosed}
	return l.Do(ctx, name, func(ctx context.Context, _ *ledger.Lease) error { return work(ctx) })
}
