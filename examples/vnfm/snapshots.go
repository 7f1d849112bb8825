package main

import (
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
)

// snapshotConfig says where snapshots are kept, and which ones.
type snapshotConfig struct {
	Folder       string   `yaml:"folder"`        // required with the other settings
	RecoveryKeys []string `yaml:"recovery_keys"` // public parts
	Every        period   `yaml:"every"`         // 0: none are scheduled
	Keep         int      `yaml:"keep"`          // scheduled ones of an instance; default 7
	KeepBefore   period   `yaml:"keep_before"`   // those of operations; default 30 days
}

func (c snapshotConfig) check(wrong func(is bool, setting, reason string)) {
	others := len(c.RecoveryKeys) > 0 || c.Every != 0 || c.Keep != 0 || c.KeepBefore != 0
	wrong(c.Folder == "" && others, "snapshots.folder", "is required")
	wrong(c.Every < 0 || c.Keep < 0 || c.KeepBefore < 0, "snapshots", "has a negative time or number")
	if _, err := snapshots.New(nil, c.RecoveryKeys...); err != nil {
		wrong(true, "snapshots.recovery_keys", err.Error())
	}
}

// attach has a Manager keep snapshots.
func (c snapshotConfig) attach(managed *vnflcm.Config) error {
	if c.Folder == "" {
		return nil
	}
	archives, err := snapshots.New(snapshots.Directory(c.Folder), c.RecoveryKeys...)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	managed.Snapshots = archives
	managed.SnapshotPolicy = vnflcm.SnapshotPolicy{Every: time.Duration(c.Every), KeepScheduled: c.Keep, KeepBefore: time.Duration(c.KeepBefore)}
	return nil
}
