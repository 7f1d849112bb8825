package main

import (
	"context"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// retentionConfig is how long operations are kept after their end.
type retentionConfig struct {
	Operations time.Duration `yaml:"operations"` // COMPLETED, and changes of the feed; 0: for ever
	Failures   time.Duration `yaml:"failures"`   // FAILED and ROLLED_BACK; 0: for ever
}

func (c retentionConfig) times() vnflcm.Retention {
	return vnflcm.Retention{Completed: c.Operations, Failed: c.Failures}
}

// purgeEvery is how often a VNFM with a retention purges.
const purgeEvery = time.Hour

// purgeRegularly removes what the retention does not keep, until ctx ends. Of several processes one does.
func (v *vnfm) purgeRegularly(ctx context.Context) error {
	if v.config.Retention.Operations == 0 {
		return nil
	}
	return v.Exclusively(ctx, "retention", func(ctx context.Context) error {
		every := time.NewTicker(purgeEvery)
		defer every.Stop()
		for {
			if err := v.purge(ctx); err != nil && ctx.Err() == nil {
				v.log.WarnContext(ctx, "old operations cannot be purged now", "error", err)
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-every.C:
			}
		}
	})
}

// purge removes what the retention does not keep.
func (v *vnfm) purge(ctx context.Context) error {
	unsent, err := v.notifier.Unsent(ctx)
	if err != nil {
		return err
	}
	done, err := v.Purge(ctx, v.config.Retention.times(), unsent...)
	if done != (vnflcm.Purged{}) {
		v.log.InfoContext(ctx, "purged", "operations", done.Completed, "failures", done.Failed, "changes", done.Changes)
	}
	return err
}
