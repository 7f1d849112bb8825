package nfvo

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/internal/packagefolder"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// transfer receives a file of the NFVO into a file. After a broken connection it continues by a Range with If-Range.
type transfer struct {
	*PackageCache
	source *url.URL
	want   checksum // that the NFVO announces
	known  string   // the entity tag of a content that the cache has: errNotModified if the NFVO has no other one
	// started is called when the NFVO begins to send content. An error ends the transfer.
	started func(ctx context.Context, etag string) error
	report  func(at, total int64)

	file      *os.File
	at        int64  // bytes that file has
	total     int64  // of the whole file, -1 if unknown
	etag      string // strong; "" if the transfer cannot continue
	resumed   bool   // some bytes are of another connection
	sum       hash.Hash
	announced hash.Hash // by the algorithm of want; nil without a checksum
}

// Errors after which a transfer begins at the beginning, or has nothing to do.
var (
	errRestart     = errors.New("the NFVO has not continued the content")
	errNotModified = errors.New("the content has not changed")
	errStalled     = errors.New("no byte has arrived for too long")
)

// maxFailures is how many attempts in a row may fail without any progress.
const maxFailures = 5

// run receives the file and compares its checksum. A file of several connections that has a wrong checksum is received once more.
func (t *transfer) run(ctx context.Context) error {
	for isSecond := false; ; isSecond = true {
		if err := t.receive(ctx); err != nil {
			return err
		}
		err := t.verify()
		if err == nil || !t.resumed || isSecond {
			return err
		}
		if err := t.reset(); err != nil {
			return err
		}
		t.etag, t.resumed = "", false
	}
}

// receive receives the file. It gives up after attempts that bring no progress.
func (t *transfer) receive(ctx context.Context) error {
	for failures := 1; ; failures++ {
		before := t.at
		err := t.attempt(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case t.at > before:
			failures = 1
		}
		pause, mayPass := t.pauseAfter(err, failures)
		if !mayPass || failures > maxFailures {
			return err
		}
		if err := retry.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

// attempt receives as much of the file as one connection brings.
func (t *transfer) attempt(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	watch := time.AfterFunc(t.StallTimeout, func() { end(errStalled) })
	defer watch.Stop()
	header := http.Header{"Accept-Encoding": {"identity"}} // a range counts the bytes of the file
	asked := t.at > 0 && t.etag != ""
	switch {
	case asked:
		header.Set("Range", fmt.Sprintf("bytes=%d-", t.at))
		header.Set("If-Range", t.etag)
	case t.known != "":
		header.Set("If-None-Match", t.known)
	}
	answer, err := t.client.do(ctx, request{method: http.MethodGet, url: t.source, version: packageAPIs[t.client.version].version,
		accept: "application/zip, application/octet-stream, */*", header: header})
	if err != nil {
		return stallOr(ctx, err)
	}
	defer answer.Body.Close()
	if err := t.accept(ctx, answer, asked); err != nil {
		return err
	}
	return t.copy(ctx, answer.Body, watch)
}

// accept judges the header of an answer.
func (t *transfer) accept(ctx context.Context, answer *http.Response, asked bool) error {
	switch {
	case answer.StatusCode == http.StatusNotModified && t.known != "" && !asked:
		return errNotModified
	case answer.StatusCode == http.StatusPartialContent && asked:
		return t.proceed(ctx, answer.Header)
	case answer.StatusCode == http.StatusRequestedRangeNotSatisfiable && asked:
		t.etag = ""
		return errRestart
	case answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusAccepted: // OpenStack Tacker answers 202 with the content
		return t.client.refusal(answer)
	}
	if err := t.reset(); err != nil {
		return err
	}
	if t.total = answer.ContentLength; t.total > t.MaxSize {
		return t.folder.TooLarge()
	}
	if err := t.folder.CheckFree(max(t.total, 0)); err != nil {
		return err
	}
	if t.etag = answer.Header.Get("ETag"); strings.HasPrefix(t.etag, "W/") { // If-Range compares strongly (RFC 9110 13.1.5)
		t.etag = ""
	}
	return t.started(ctx, t.etag)
}

// proceed judges the header of an answer that continues the file.
func (t *transfer) proceed(ctx context.Context, header http.Header) error {
	first, total, err := parseContentRange(header.Get("Content-Range"))
	tag := header.Get("ETag")
	if err != nil || first != t.at || t.total >= 0 && total != t.total || tag != "" && tag != t.etag {
		t.etag = ""
		return errRestart
	}
	t.total, t.resumed = total, true
	if total > t.MaxSize {
		return t.folder.TooLarge()
	}
	return t.started(ctx, t.etag)
}

// parseContentRange returns the first byte and the size of the file of a Content-Range such as "bytes 5-9/10" (RFC 9110 14.4); the size is
// -1 if it is unknown.
func parseContentRange(text string) (first, total int64, err error) {
	wrong := fmt.Errorf("the Content-Range %.60q is not valid", text)
	unit, rest, _ := strings.Cut(text, " ")
	part, size, hasSize := strings.Cut(rest, "/")
	from, to, hasEnd := strings.Cut(part, "-")
	if !strings.EqualFold(unit, "bytes") || !hasSize || !hasEnd {
		return 0, 0, wrong
	}
	begin, err1 := strconv.ParseUint(from, 10, 63)
	last, err2 := strconv.ParseUint(to, 10, 63)
	if errors.Join(err1, err2) != nil || last < begin {
		return 0, 0, wrong
	}
	if size == "*" {
		return int64(begin), -1, nil
	}
	all, err := strconv.ParseUint(size, 10, 63)
	if err != nil || all <= last {
		return 0, 0, wrong
	}
	return int64(begin), int64(all), nil
}

// copy appends the body of an answer to the file.
func (t *transfer) copy(ctx context.Context, body io.Reader, watch *time.Timer) (err error) {
	to := []io.Writer{t.file, t.sum}
	if t.announced != nil {
		to = append(to, t.announced)
	}
	t.at, err = t.folder.Copy(ctx, io.MultiWriter(to...), t.at, readerFunc(func(b []byte) (int, error) {
		n, err := body.Read(b)
		if n > 0 {
			watch.Reset(t.StallTimeout)
			t.report(t.at, t.total)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			err = stallOr(ctx, &vnflcm.UnreachableError{Err: withoutURL(err)})
		}
		return n, err
	}))
	t.report(t.at, t.total)
	if err == nil && t.total >= 0 && t.at != t.total {
		err = &vnflcm.UnreachableError{Err: io.ErrUnexpectedEOF}
	}
	return err
}

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// reset empties the file.
func (t *transfer) reset() (err error) {
	t.at, t.total, t.sum = 0, -1, sha256.New()
	if t.announced, err = t.want.new(); err != nil {
		return err
	}
	_, err = t.file.Seek(0, io.SeekStart)
	return packagefolder.NoSpace(errors.Join(t.file.Truncate(0), err))
}

// resume copies what an interrupted transfer has received. The process of that transfer may still write to its file, which therefore is not
// continued itself.
func (t *transfer) resume(ctx context.Context, received io.Reader, etag string) (err error) {
	if err := t.reset(); err != nil {
		return err
	}
	to := []io.Writer{t.file, t.sum}
	if t.announced != nil {
		to = append(to, t.announced)
	}
	t.at, err = t.folder.Copy(ctx, io.MultiWriter(to...), 0, received)
	t.etag, t.resumed = etag, true
	return err
}

// verify compares the checksum of the file with the one that the NFVO announces.
func (t *transfer) verify() error {
	if t.announced == nil {
		return nil
	}
	if got := hex.EncodeToString(t.announced.Sum(nil)); got != t.want.Hash {
		return fmt.Errorf("%w: %s %s instead of %.128s", ErrChecksum, t.want.Algorithm, got, t.want.Hash)
	}
	return nil
}

// stallOr returns the error of a connection, or why this program has ended it.
func stallOr(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStalled):
		return &vnflcm.UnreachableError{Err: cause}
	case cause != nil:
		return cause
	}
	return err
}

// Bounds of the pause before another attempt.
const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
	maxAsked   = 10 * time.Minute // by Retry-After
)

// pauseAfter returns how long to wait after failed attempts, as long as the NFVO asks for, and whether another attempt may succeed.
func (c *PackageCache) pauseAfter(err error, failures int) (time.Duration, bool) {
	away, is := errors.AsType[*vnflcm.UnreachableError](err)
	_, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case isUntrusted, errors.Is(err, outbound.ErrAddress), !is && !errors.Is(err, errRestart):
		return 0, false
	case is && away.After > 0:
		return min(away.After, maxAsked), true
	}
	return min(c.pause<<(failures-1), maxPause), true
}
