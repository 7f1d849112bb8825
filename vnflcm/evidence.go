package vnflcm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	// maxEvidence is how many bytes the evidence of one operation may have in the store, compressed.
	maxEvidence = 20 << 20
	// maxBundle is how many bytes the files of one Evidence may have.
	maxBundle = 4 << 20
	// evidenceLife is how long evidence is kept.
	evidenceLife = 30 * 24 * time.Hour
	// evidenceEvery is how often a Manager removes old evidence.
	evidenceEvery = time.Hour
)

// Evidence has the files that a driver has gathered after the failure of a step (Operation.KeepEvidence).
type Evidence struct {
	OperationID string         `json:"operationId"`
	Phase       string         `json:"phase"`
	Step        string         `json:"step"`
	On          string         `json:"on,omitempty"`   // VNFC
	Host        string         `json:"host,omitempty"` // name of the VNFC
	Time        time.Time      `json:"time"`
	Files       []EvidenceFile `json:"files,omitempty"` // none in a list
}

// EvidenceFile is one file of Evidence, such as the journal of a service.
type EvidenceFile struct {
	Name    string `json:"name"`
	Content string `json:"content"`
}

// evidenceRecord is the stored record of an Evidence. Files are compressed JSON.
type evidenceRecord struct {
	Evidence
	Archive []byte `json:"archive"`
	of      store.Index
}

func (e evidenceRecord) Index() store.Index { return e.of }

// evidencePrefix begins the ids of the evidence of an operation.
func evidencePrefix(instanceID, opID string) string { return instanceID + "/" + opID + "/" }

// KeepEvidence stores with the operation the files that a driver has gathered after a failure. The driver fills Step, On and Files; evidence
// of an earlier failure of the step on this machine is replaced. Secrets of the operation are masked. Evidence is sealed as all
// records are, and is removed after 30 days, with the operation, or with the VNF instance. ErrInvalidRequest: the files have more than 4 MiB,
// or the operation would have more than 20 MiB of evidence in the store.
func (op *Operation) KeepEvidence(ctx context.Context, e Evidence) error {
	if op.steps == nil || op.claim == nil {
		return errReadOnly
	}
	e.OperationID, e.Phase, e.Host, e.Time = op.ID, op.phase, op.hostOf(e.On), time.Now().Round(0)
	record := evidenceRecord{Evidence: e, of: store.Index{Instance: op.InstanceID, Start: e.Time.UnixNano()}}
	record.Files = nil
	var err error
	if record.Archive, err = op.archive(e.Files); err != nil {
		return err
	}
	op.steps.keeping.Lock() // the next one counts this one
	defer op.steps.keeping.Unlock()
	if err := op.records.removeEvidence(ctx); err != nil {
		return err
	}
	id := evidencePrefix(op.InstanceID, op.ID) + op.phase + "/" + e.Step + "/" + url.PathEscape(e.On)
	return op.update(ctx, func(ctx context.Context, b *store.Batch) error {
		used := len(record.Archive)
		err := op.records.EachPage(ctx, store.Query{Kind: kindEvidence, Prefix: evidencePrefix(op.InstanceID, op.ID), Limit: 1}, func(one []store.Record) error {
			if one[0].ID != id {
				used += len(one[0].Body) * 3 / 4 // base64
			}
			return nil
		})
		if err != nil {
			return err
		}
		if used > maxEvidence {
			return fmt.Errorf("%w: the evidence of operation %s has more than %d MiB", ErrInvalidRequest, op.ID, maxEvidence>>20)
		}
		return op.records.Put(ctx, b, kindEvidence, id, record)
	})
}

// archive masks and compresses files.
func (op *Operation) archive(files []EvidenceFile) ([]byte, error) {
	size := 0
	masked := make([]EvidenceFile, len(files))
	for i, f := range files {
		masked[i] = EvidenceFile{f.Name, op.Mask(f.Content)}
		size += len(f.Content)
	}
	if size > maxBundle {
		return nil, fmt.Errorf("%w: files of evidence have %d bytes, at most %d can be kept", ErrInvalidRequest, size, maxBundle)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	err := errors.Join(json.NewEncoder(zip).Encode(masked), zip.Close())
	return out.Bytes(), err
}

// files returns the files of the record. Masking may have made them longer.
func (e evidenceRecord) files() (files []EvidenceFile, err error) {
	zip, err := gzip.NewReader(bytes.NewReader(e.Archive))
	if err != nil {
		return nil, err
	}
	text, err := bounded.Read(zip, 16*maxBundle)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &files)
	return files, err
}

// ListEvidence returns the evidence that is kept for a VNF instance, without its files, in the order of time. Records that cannot be read are
// left out. ErrNotFound: the instance does not exist.
func (m *Manager) ListEvidence(ctx context.Context, instanceID string) ([]Evidence, error) {
	if _, _, err := m.instance(ctx, instanceID); err != nil {
		return nil, err
	}
	return m.evidence(ctx, instanceID+"/", false)
}

// Evidence returns the evidence of an operation with its files, in the order of time. Records that cannot be read are left out. ErrNotFound:
// the operation does not exist.
func (m *Manager) Evidence(ctx context.Context, opID string) ([]Evidence, error) {
	rec, _, err := m.operation(ctx, opID)
	if err != nil {
		return nil, err
	}
	return m.evidence(ctx, evidencePrefix(rec.Occ.VnfInstanceID, opID), true)
}

func (m *Manager) evidence(ctx context.Context, prefix string, withFiles bool) (out []Evidence, err error) {
	q := store.Query{Kind: kindEvidence, Prefix: prefix, From: oldestEvidence(), Limit: 1} // one is large
	err = m.records.EachPage(ctx, q, func(one []store.Record) error {
		var kept evidenceRecord
		errRecord := m.records.Open(one[0], &kept)
		if errRecord == nil && withFiles {
			kept.Files, errRecord = kept.files()
		}
		if errRecord == nil {
			out = append(out, kept.Evidence)
		}
		return nil //nolint:nilerr // see Evidence
	})
	return out, err
}

func oldestEvidence() int64 { return time.Now().Add(-evidenceLife).UnixNano() }

// removeEvidence removes the evidence that is too old.
func (r *records) removeEvidence(ctx context.Context) error {
	return r.EachPage(ctx, store.Query{Kind: kindEvidence, Before: oldestEvidence(), Limit: 1}, func(old []store.Record) error {
		return ignoreConflict(r.Store.Apply(ctx, store.Batch{Delete: slices.Clone(old)}))
	})
}

// dropEvidence adds to b that all evidence is removed whose id begins with prefix. It has one record in memory at a time.
func (r *records) dropEvidence(ctx context.Context, b *store.Batch, prefix string) error {
	return r.EachPage(ctx, store.Query{Kind: kindEvidence, Prefix: prefix, Limit: 1}, func(one []store.Record) error {
		b.Delete = append(b.Delete, store.Record{Kind: kindEvidence, ID: one[0].ID, Version: one[0].Version})
		return nil
	})
}

// expireEvidence removes old evidence until ctx ends.
func (m *Manager) expireEvidence(ctx context.Context) {
	for retry.Pause(ctx, evidenceEvery) == nil {
		if err := m.records.removeEvidence(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.WarnContext(ctx, "old evidence cannot be removed now", "error", err)
		}
	}
}
