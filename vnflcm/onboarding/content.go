package onboarding

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/packagefolder"
)

// Folders below that of the Repository.
const (
	uploadsFolder = "uploads" // files that are being received, by attempt
	contentFolder = "sha256"  // ab/abcdef…-ATTEMPT
)

// received is content in the file of an attempt.
type received struct {
	sum  string // SHA-256, hexadecimal
	size int64
}

func (r *Repository) uploadPath(attempt string) string {
	return r.folder.Path(filepath.Join(uploadsFolder, attempt))
}

// contentName returns where the content of an attempt is below the folder.
func contentName(attempt, sum string) string {
	return filepath.Join(contentFolder, sum[:2], sum+"-"+attempt)
}

// store writes content into the file of an attempt, and to the disk.
func (r *Repository) store(ctx context.Context, attempt string, content io.Reader, size int64) (got received, err error) {
	if size > r.MaxSize {
		return got, r.folder.TooLarge()
	}
	if err := r.folder.CheckFree(max(size, 0)); err != nil {
		return got, err
	}
	f, err := os.OpenFile(r.uploadPath(attempt), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return got, packagefolder.HidePath(err)
	}
	sum := sha256.New()
	got.size, err = r.folder.Copy(ctx, io.MultiWriter(f, sum), 0, content)
	got.sum = hex.EncodeToString(sum.Sum(nil))
	if err == nil && size >= 0 && got.size != size {
		err = fmt.Errorf("%w: the content has %d bytes, %d were announced", io.ErrUnexpectedEOF, got.size, size)
	}
	if err == nil {
		err = packagefolder.NoSpace(f.Sync())
	}
	if err = errors.Join(err, packagefolder.NoSpace(f.Close())); err != nil {
		r.removeAttempt(attempt, "")
	}
	return got, err
}

// place moves the file of an attempt to its name for good, and returns that name below the folder.
func (r *Repository) place(attempt, sum string) (string, error) {
	name := contentName(attempt, sum)
	path := r.folder.Path(name)
	if _, err := os.Stat(path); err == nil { // moved before a conflict
		return name, nil
	}
	return name, r.folder.Place(filepath.Join(uploadsFolder, attempt), name)
}

// has reports whether the file of content has the content: a damaged file is replaced by that of another upload. It reads the file.
func (r *Repository) has(ctx context.Context, c contentRecord, sum string) bool {
	f, err := os.Open(r.folder.Path(c.File))
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != c.Size {
		return false
	}
	present := sha256.New()
	_, err = io.Copy(present, readerUntil{ctx, f})
	return err == nil && hex.EncodeToString(present.Sum(nil)) == sum
}

// readerUntil reads until its context ends.
type readerUntil struct {
	ctx context.Context //nolint:containedctx // of the call that reads
	io.Reader
}

func (r readerUntil) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(b)
}

// removeAttempt removes the files of an attempt. sum is "" if the content was not placed.
func (r *Repository) removeAttempt(attempt, sum string) {
	if attempt == "" {
		return
	}
	_ = os.Remove(r.uploadPath(attempt)) // sweep removes what stays
	if sum != "" {
		_ = os.Remove(r.folder.Path(contentName(attempt, sum)))
	}
}

// removeFile removes a file that no package has. It does nothing for "".
func (r *Repository) removeFile(ctx context.Context, name string) {
	if name == "" {
		return
	}
	if err := os.Remove(r.folder.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Logger.WarnContext(ctx, "a file that no VNF package has cannot be removed now", "error", err)
	}
}

// contentPath returns the file with the content of a package.
func (r *Repository) contentPath(ctx context.Context, p *entry) (string, error) {
	var c contentRecord
	d, err := r.document(ctx, contentsIn, p.Content, &c)
	if err == nil && d.Version == 0 {
		err = fmt.Errorf("the content of package %s: %w", p.id, vnflcm.ErrNotFound)
	}
	return r.folder.Path(c.File), err
}

// Content is the content of a package as it was uploaded. The caller closes it.
type Content struct {
	io.ReadSeekCloser
	Size     int64
	Checksum Checksum // SHA-256
}

// Content opens the content of an ONBOARDED package that the tenant may use. ErrState: the package is in another state.
func (r *Repository) Content(ctx context.Context, tenant, id string) (*Content, error) {
	p, err := r.onboarded(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	path, err := r.contentPath(ctx, p)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path) //nolint:gosec // a file of the Repository
	if err != nil {
		r.Logger.WarnContext(ctx, "the content of a VNF package cannot be read", "package", id, "error", err)
		return nil, packagefolder.HidePath(err)
	}
	return &Content{ReadSeekCloser: f, Size: p.Size, Checksum: *p.Info.Checksum}, nil
}

// onboarded returns an ONBOARDED package that the tenant may use.
func (r *Repository) onboarded(ctx context.Context, tenant, id string) (*entry, error) {
	p, err := r.visible(ctx, tenant, id)
	if err == nil && p.Info.OnboardingState != Onboarded {
		err = fmt.Errorf("%w: package %s is %s, not ONBOARDED", vnflcm.ErrState, id, p.Info.OnboardingState)
	}
	return p, err
}

// attemptOf returns the attempt that has made a file; false for a foreign file.
func attemptOf(name string) (string, bool) {
	if i := strings.IndexByte(name, '-'); i == 2*sha256.Size {
		name = name[i+1:]
	}
	return name, isUUID(name)
}
