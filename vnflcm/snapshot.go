package vnflcm

import (
	"archive/tar"
	"context"
	"io"
	"time"
)

// Snapshotter is a MgmtDriver that can save the data of a VNF. The first driver of this kind that the VNFD names for any hook takes the
// snapshots of the VNF. Before CREATE_SNAPSHOT is accepted the Manager calls Validate, with op.CreateSnapshot set.
type Snapshotter interface {
	// TakeSnapshot writes the data of the VNF as files of a tar archive, and returns what documents show of them, such as a version. It
	// holds neither a file of the archive nor a copy of it in memory, and leaves none on a machine. The files may be secrets: only the
	// archive is encrypted. TakeSnapshot may be called again: then the archive is a new one.
	TakeSnapshot(ctx context.Context, op *Operation, to *tar.Writer) (about map[string]string, err error)
	// TestSnapshot reads the archive as it was stored, and returns an error if the VNF could not be restored from it. about are further
	// values for documents, such as how much data there is.
	TestSnapshot(ctx context.Context, op *Operation, from *tar.Reader) (about map[string]string, err error)
}

// SnapshotReverter is a Snapshotter that can bring the VNF back to a snapshot. Before REVERT_TO_SNAPSHOT is accepted the Manager calls
// Validate, with op.RevertToSnapshot set.
type SnapshotReverter interface {
	Snapshotter
	// RevertToSnapshot brings the VNF back to the snapshot that op.RevertToSnapshot names: Operation.OpenSnapshot opens its archive. The
	// steps are journaled, and RevertToSnapshot may be called again, like a hook.
	RevertToSnapshot(ctx context.Context, op *Operation) error
}

// RevertPhase is the PlannedTask.Phase of the tasks of a SnapshotReverter. It is no hook that a VNFD can name.
const RevertPhase Hook = "revert_to_snapshot"

// Snapshots keeps the archives of snapshots, encrypted. Package vnflcm/snapshots has it on a folder or on the caller's own storage. It is
// safe for concurrent use.
type Snapshots interface {
	// Create begins an archive, encrypted under a new data key.
	Create(ctx context.Context, at SnapshotPlace) (SnapshotArchive, error)
	// Open returns a committed archive in clear. Reading returns an error before it returns data that were changed, and before the end of
	// an archive that was cut. ErrNotFound: there is no archive. ErrUnreadable: the key belongs to another archive.
	Open(ctx context.Context, at SnapshotPlace, key Secret) (io.ReadCloser, error)
	// Remove removes an archive, and one that was begun and not committed. A missing one is no error.
	Remove(ctx context.Context, at SnapshotPlace) error
}

// SnapshotPlace names an archive in Snapshots. Each part may have any characters.
type SnapshotPlace struct {
	Tenant   string // "" for none
	Instance string
	ID       string
}

// SnapshotArchive is an archive that is being written. Abort or Commit ends it.
type SnapshotArchive interface {
	io.Writer
	// Key is the data key. The Manager stores it sealed under Config.Key, and no other place has it.
	Key() Secret
	// Commit ends the archive and makes it durable. It returns the checksum and the size of what is stored.
	Commit() (SnapshotSum, error)
	// Abort removes the archive, unless it was committed.
	Abort()
}

// SnapshotSum describes an archive as it is stored, encrypted.
type SnapshotSum struct {
	SHA256 string // hexadecimal
	Size   int64  // bytes
}

// SnapshotCause says why a snapshot was taken.
type SnapshotCause string

// The causes. Automatic snapshots are removed after a time (SnapshotPolicy).
const (
	SnapshotRequested SnapshotCause = "request"
	SnapshotScheduled SnapshotCause = "schedule"  // automatic
	SnapshotBefore    SnapshotCause = "operation" // automatic, by an operation before it changes what cannot be changed back
)

// SnapshotPolicy says which snapshots are taken and removed without a request. The zero SnapshotPolicy takes none, and removes those that
// operations have taken after 30 days.
type SnapshotPolicy struct {
	// Every is how much time passes between two scheduled snapshots of a VNF instance whose VNFD names a Snapshotter. An instance that an
	// operation has locked is left out until the operation has ended. 0: none are scheduled.
	Every time.Duration
	// KeepScheduled is how many scheduled snapshots of an instance are kept, the newest ones. Default 7.
	KeepScheduled int
	// KeepBefore is how long snapshots are kept that operations have taken before a change, and all automatic ones of an instance that is
	// not instantiated any more. Default 30 days.
	KeepBefore time.Duration
}

// VnfSnapshotInfo is a snapshot of a VNF, or a resource for a future one (SOL003 v3.3.1 5.5.2.22).
type VnfSnapshotInfo struct {
	ID string `json:"id"`
	// VnfSnapshot is nil until the snapshot was taken and has passed its test.
	VnfSnapshot *VnfSnapshot `json:"vnfSnapshot,omitempty"`
	Tenant      string       `json:"-"`
	// Version changes with every change of the snapshot: the ETag of an HTTP API.
	Version string `json:"-"`
}

// VnfSnapshot is a snapshot that has passed its test (SOL003 v3.3.1 5.5.2.23).
type VnfSnapshot struct {
	ID            string `json:"id"`
	VnfInstanceID string `json:"vnfInstanceId"`
	// Times are those of the process that took the snapshot. The data are as of a moment between them.
	CreationStartedAt  time.Time `json:"creationStartedAt"`
	CreationFinishedAt time.Time `json:"creationFinishedAt"`
	VnfdID             string    `json:"vnfdId"`
	// VnfInstance is the instance at that time, without its connections to VIMs.
	VnfInstance *VnfInstance `json:"vnfInstance"`
	// VnfcSnapshots is empty: machines are not saved.
	VnfcSnapshots        []struct{}           `json:"vnfcSnapshots"`
	VnfStateSnapshotInfo VnfStateSnapshotInfo `json:"vnfStateSnapshotInfo"`
	UserDefinedData      KeyValuePairs        `json:"userDefinedData,omitempty"`

	// SOL003 has none of the following attributes.
	Cause          SnapshotCause `json:"cause"`
	VnfLcmOpOccID  string        `json:"vnfLcmOpOccId"` // of the operation that took it
	TestFinishedAt time.Time     `json:"testFinishedAt"`
	// About has what the driver tells of the data.
	About map[string]string `json:"about,omitempty"`
}

// VnfStateSnapshotInfo describes the archive of a snapshot (VnfStateSnapshotInfo of SOL003 v3.3.1).
type VnfStateSnapshotInfo struct {
	Checksum    Checksum      `json:"checksum"`
	IsEncrypted bool          `json:"isEncrypted"`
	Metadata    KeyValuePairs `json:"metadata,omitempty"` // size in bytes
}

// Checksum is a digest of a file.
type Checksum struct {
	Algorithm string `json:"algorithm"` // SHA-256
	Hash      string `json:"hash"`      // hexadecimal
}

// CreateVnfSnapshotInfoRequest asks for a resource that CreateSnapshot fills (SOL003 v3.3.1 5.5.2.20).
type CreateVnfSnapshotInfoRequest struct {
	// VnfSnapshotPkgID is refused: there are no snapshot packages.
	VnfSnapshotPkgID string `json:"vnfSnapshotPkgId,omitempty"`
	Tenant           string `json:"-"`
}

// CreateVnfSnapshotRequest asks for a snapshot of a VNF (SOL003 v3.3.1 5.5.2.21).
type CreateVnfSnapshotRequest struct {
	// VnfSnapshotInfoID names a resource of CreateSnapshotInfo that no snapshot has used. It has the tenant of the instance, or none.
	VnfSnapshotInfoID string        `json:"vnfSnapshotInfoId"`
	AdditionalParams  Params        `json:"additionalParams,omitzero"`
	UserDefinedData   KeyValuePairs `json:"userDefinedData,omitempty"`
}

// RevertToVnfSnapshotRequest asks to bring a VNF back to a snapshot (SOL003 v3.3.1 5.5.2.26).
type RevertToVnfSnapshotRequest struct {
	// VnfSnapshotInfoID names a snapshot of the instance, taken while the instance had the VNFD that it has now.
	VnfSnapshotInfoID string `json:"vnfSnapshotInfoId"`
	// VnfcInstanceID and VnfcSnapshotInfoID are refused: VNFCs have no snapshots.
	VnfcInstanceID     string `json:"vnfcInstanceId,omitempty"`
	VnfcSnapshotInfoID string `json:"vnfcSnapshotInfoId,omitempty"`
	AdditionalParams   Params `json:"additionalParams,omitzero"`
}

// SnapshotQuery selects snapshots, as InstanceQuery selects instances. Resources without a snapshot are of no instance.
type SnapshotQuery struct {
	InstanceID string
	Match      func(*VnfSnapshotInfo) bool
	After      string
	Limit      int
}
