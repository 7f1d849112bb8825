package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// retentionConfig is how long operations are kept after their end.
type retentionConfig struct {
	Operations period `yaml:"operations"` // COMPLETED, and changes of the feed; 0: for ever
	Failures   period `yaml:"failures"`   // FAILED and ROLLED_BACK; 0: for ever
}

func (c retentionConfig) times() vnflcm.Retention {
	return vnflcm.Retention{Completed: time.Duration(c.Operations), Failed: time.Duration(c.Failures)}
}

// period is a time in the file: a number of days, such as 90d, or a duration, such as 2160h.
type period time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (p *period) UnmarshalYAML(node *yaml.Node) error {
	if days, isDays := strings.CutSuffix(node.Value, "d"); isDays {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			*p = period(time.Duration(n) * 24 * time.Hour)
			return nil
		}
	}
	d, err := time.ParseDuration(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: %q is no time such as 90d or 2160h", node.Line, node.Value)
	}
	*p = period(d)
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (p period) MarshalYAML() (any, error) { return time.Duration(p).String(), nil }

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
