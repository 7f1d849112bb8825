package helmcli

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/bounded"
)

// markFailed marks a revision as failed, with a reason. Its helm must have ended.
func (c *Client) markFailed(ctx context.Context, m *machine, r *helmclient.Release, why string) error {
	c.config.Log.WarnContext(ctx, "a release is marked as failed", "release", r.String(), "revision", r.Revision, "state", string(r.State), "reason", why)
	return c.editRecord(ctx, m, r, helmclient.Failed, why)
}

// editRecord changes the state, unless it is empty, and the description of a revision. Helm has no command for that.
func (c *Client) editRecord(ctx context.Context, m *machine, r *helmclient.Release, state helmclient.State, description string) error {
	return c.changeRecord(ctx, m, r, described(state, description))
}

// changeRecord changes the stored record of a revision as Helm itself would (pkg/storage/driver, Secrets), and fails if
// another client has changed the record meanwhile.
func (c *Client) changeRecord(ctx context.Context, m *machine, r *helmclient.Release, change recordChange) error {
	record := fmt.Sprintf("sh.helm.release.v1.%s.v%d", r.Release, r.Revision)
	out, err := m.run(ctx, command{argv: []string{"kubectl", "get", "secret", record, "--namespace=" + r.Namespace, "--output=json"}})
	if err != nil {
		return err
	}
	changed, err := editedRecord(out, change)
	if err != nil {
		return fmt.Errorf("%s: %w", record, err)
	}
	// replace fails if the resource version has changed since the read
	_, err = m.run(ctx, command{argv: []string{"kubectl", "replace", "--namespace=" + r.Namespace, "--filename=-"}, stdin: bytes.NewReader(changed)})
	return err
}

// recordChange changes the fields of a record and the labels of its Secret.
type recordChange func(release, labels map[string]any) error

// described returns the change to a state, unless it is empty, and to a description.
func described(state helmclient.State, description string) recordChange {
	return func(release, labels map[string]any) error {
		info, ok := release["info"].(map[string]any)
		if !ok {
			return errors.New("helm: the record of a release has no info")
		}
		info["description"] = description
		if state != "" {
			info["status"], labels["status"] = string(state), string(state)
		}
		return nil
	}
}

// previous is the revision before the newest one, for changeManifest.
const previous = -1

// changeManifest changes the stored manifest of a revision, 0 for the newest one, if the revision exists.
func (c *Client) changeManifest(ctx context.Context, n helmclient.Name, revision int, change func(context.Context, []byte) ([]byte, error)) error {
	return c.try(ctx, func(m *machine) error {
		r, err := m.release(ctx, n, max(revision, 0))
		if err == nil && revision == previous {
			r, err = m.release(ctx, n, max(r.Revision-1, 1))
		}
		if errors.Is(err, helmclient.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		changed, err := change(ctx, []byte(r.Manifest))
		if err != nil || string(changed) == r.Manifest {
			return err
		}
		return c.changeRecord(ctx, m, r, func(release, _ map[string]any) error {
			release["manifest"] = string(changed)
			return nil
		})
	})
}

// editedRecord changes a Secret of Helm: base64 in base64, compressed JSON inside. Unknown fields stay unchanged.
func editedRecord(secret []byte, change recordChange) ([]byte, error) {
	var s map[string]any
	if err := json.Unmarshal(secret, &s); err != nil {
		return nil, fmt.Errorf("helm: its record cannot be read: %w", err)
	}
	data, _ := s["data"].(map[string]any)
	meta, _ := s["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	text, _ := data["release"].(string)
	if s["type"] != "helm.sh/release.v1" || labels == nil || text == "" {
		return nil, errors.New("helm: it is no record of a release")
	}
	release, err := unpack(text)
	if err != nil {
		return nil, err
	}
	if err := change(release, labels); err != nil {
		return nil, err
	}
	if data["release"], err = pack(release); err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

func unpack(text string) (map[string]any, error) {
	outer, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("helm: a record: %w", err)
	}
	inner, err := base64.StdEncoding.DecodeString(string(outer))
	if err != nil {
		return nil, fmt.Errorf("helm: a record: %w", err)
	}
	var r io.Reader = bytes.NewReader(inner)
	if bytes.HasPrefix(inner, []byte{0x1f, 0x8b, 8}) { // records of old versions are not compressed
		if r, err = gzip.NewReader(r); err != nil {
			return nil, fmt.Errorf("helm: a record: %w", err)
		}
	}
	plain, err := bounded.Read(r, maxOutput)
	if err != nil {
		return nil, fmt.Errorf("helm: a record: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	var release map[string]any
	if err := d.Decode(&release); err != nil {
		return nil, fmt.Errorf("helm: a record: %w", err)
	}
	return release, nil
}

func pack(release map[string]any) (string, error) {
	plain, err := json.Marshal(release)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := z.Write(plain); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	inner := base64.StdEncoding.EncodeToString(packed.Bytes())
	return base64.StdEncoding.EncodeToString([]byte(inner)), nil
}
