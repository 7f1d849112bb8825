package sol003

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// progress is how many bytes a transfer must move within Options.Stall. A smaller number would let a client hold a
// connection for weeks with a byte at a time.
const progress = 64 << 10

// steadyBody reads the body of a request. Its read deadline, which takes the place of the server's ReadTimeout, is renewed each time
// another piece has arrived.
type steadyBody struct {
	*call
	deadline *http.ResponseController
	unseen   int64 // bytes that have arrived since the deadline was renewed
}

// readSteadily calls a function with the body of the request. While it works, the answer has no deadline.
func (c *call) readSteadily(read func(io.Reader) error) error {
	b := &steadyBody{call: c, deadline: http.NewResponseController(c.w)}
	b.renew(c.Stall)
	_ = b.deadline.SetWriteDeadline(time.Time{})
	defer func() { _ = b.deadline.SetWriteDeadline(time.Now().Add(c.Stall)) }()
	return read(b)
}

// renew moves the read deadline; 0 removes it. An error means that the ResponseWriter, such as a recorder of a test, has no deadlines.
func (b *steadyBody) renew(patience time.Duration) {
	var deadline time.Time
	if patience > 0 {
		deadline = time.Now().Add(patience)
	}
	b.unseen = 0
	_ = b.deadline.SetReadDeadline(deadline)
}

// Read implements io.Reader. Behind the end of the body there is no read deadline: the http.Server would take its passing for a client
// that has disconnected, and cancel the request.
func (b *steadyBody) Read(p []byte) (int, error) {
	n, err := b.r.Body.Read(p)
	b.unseen += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		b.renew(0)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, &statusError{status: http.StatusRequestTimeout, detail: fmt.Sprintf("less than %d bytes have arrived within %s", progress, b.Stall)}
	case b.unseen >= progress:
		b.renew(b.Stall)
	}
	return n, err
}

// content is what a GET of a file answers.
type content struct {
	media string
	tag   string // the entity tag, "" without one
	name  string // by which a browser stores it
	size  int64
	open  func() (io.ReadCloser, error)
}

// sendContent answers a GET with a file, or with the part of it that Range names (RFC 9110 14.2).
func (c *call) sendContent(f content) error {
	header := c.w.Header()
	if f.tag != "" {
		header.Set("ETag", f.tag)
		if hasTag(c.r.Header.Values("If-None-Match"), f.tag, "W/"+f.tag) {
			c.w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	part, err := c.byteRange(f)
	if err != nil {
		return err
	}
	reader, err := f.open()
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	if err := skip(reader, part.first); err != nil {
		return err
	}
	header.Set("Content-Type", f.media)
	header.Set("Accept-Ranges", "bytes")
	header.Set("Content-Length", strconv.FormatInt(part.length, 10))
	asAttachment(header, f.name)
	status := http.StatusOK
	if part.isPart {
		status = http.StatusPartialContent
		header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", part.first, part.first+part.length-1, f.size))
	}
	c.w.WriteHeader(status)
	if c.r.Method == http.MethodHead {
		return nil
	}
	c.copySteadily(io.LimitReader(reader, part.length), part.length)
	return nil
}

// asAttachment keeps browsers from showing a file of a package as a page of the VNFM.
func asAttachment(header http.Header, name string) {
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Disposition", "attachment; filename*=UTF-8''"+escapeName(name))
}

// escapeName writes a name as RFC 8187 has it.
func escapeName(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c < 0x80 && (c == '-' || c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// skip passes over the beginning of a file.
func skip(r io.Reader, n int64) error {
	if s, ok := r.(io.Seeker); ok {
		_, err := s.Seek(n, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, r, n)
	return err
}

// copySteadily sends the rest of an answer whose header was sent.
func (c *call) copySteadily(r io.Reader, length int64) {
	n, err := io.CopyBuffer(&steadyWriter{call: c, deadline: http.NewResponseController(c.w)}, r, make([]byte, progress))
	if err == nil && n < length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		c.cut(err)
	}
}

// cut ends the connection of an answer that has begun: the client must not take a part for the whole.
func (c *call) cut(err error) {
	if c.r.Context().Err() == nil {
		c.Logger.WarnContext(c.r.Context(), "an answer is cut", "resource", c.r.Pattern, "error", err)
	}
	panic(http.ErrAbortHandler)
}

// steadyWriter writes the body of an answer. Its write deadline is renewed for each piece.
type steadyWriter struct {
	*call
	deadline *http.ResponseController
}

// Write implements io.Writer.
func (w *steadyWriter) Write(p []byte) (total int, err error) {
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), progress)]
		_ = w.deadline.SetWriteDeadline(time.Now().Add(w.Stall))
		var n int
		n, err = w.w.Write(piece)
		total, p = total+n, p[n:]
	}
	return total, err
}

// byteRange is a part of a file.
type byteRange struct {
	first, length int64
	isPart        bool
}

// byteRange returns which part of a file the request wants. A Range with another unit is ignored, and one with an If-Range that is
// not the entity tag of the file (RFC 9110 13.1.5).
func (c *call) byteRange(f content) (byteRange, error) {
	whole := byteRange{length: f.size}
	text, isBytes := strings.CutPrefix(c.r.Header.Get("Range"), "bytes=")
	if condition := c.r.Header.Get("If-Range"); !isBytes || condition != "" && (f.tag == "" || condition != f.tag) {
		return whole, nil
	}
	first, last, isRange := strings.Cut(strings.TrimSpace(text), "-")
	if !isRange || strings.Contains(text, ",") {
		return whole, badRequest("Range: one range of bytes is served, such as bytes=0-1023 (SOL003 v2.6.1 10.4.5.3.2)")
	}
	part, err := parseRange(first, last, f.size)
	if err != nil {
		return whole, badRequest("Range: must be as bytes=0-1023, bytes=1024- or bytes=-1024")
	}
	if part.length <= 0 {
		return whole, &statusError{status: http.StatusRequestedRangeNotSatisfiable, detail: fmt.Sprintf("the file has %d bytes", f.size),
			header: http.Header{"Content-Range": {fmt.Sprintf("bytes */%d", f.size)}}}
	}
	return part, nil
}

var errRange = errors.New("no range")

// parseRange reads the two positions of a range. The length is 0 if the range is behind the end of the file.
func parseRange(first, last string, size int64) (byteRange, error) {
	from, errFirst := strconv.ParseUint(first, 10, 63)
	to, errLast := strconv.ParseUint(last, 10, 63)
	part := byteRange{first: int64(from), isPart: true}
	switch {
	case first == "" && errLast == nil: // the last bytes
		part.length = min(int64(to), size)
		part.first = size - part.length
	case errFirst == nil && last == "":
		part.length = max(size-part.first, 0)
	case errFirst == nil && errLast == nil && from <= to:
		part.length = max(min(int64(to), size-1)-part.first+1, 0)
	default:
		return part, errRange
	}
	return part, nil
}
