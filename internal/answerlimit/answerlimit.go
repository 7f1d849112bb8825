// Package answerlimit bounds the answers of HTTP servers, which may be hostile: their bodies, and the messages that
// become part of errors.
package answerlimit

import (
	"fmt"
	"io"
	"net/http"

	"github.com/vnfkit/vnfkit/internal/bounded"
)

const (
	// maxAnswer bounds an answer in memory. The stack of a VNF with thousands of VNFCs, and a list of some thousand pods,
	// take some MiB; Helm reads all revisions of the releases of a namespace at once.
	maxAnswer = 64 << 20
	// maxValues bounds the values of JSON. A decoded value takes up to 100 bytes, also one that is two bytes long in the
	// answer; an answer of 64 MiB that describes pods or machines has fewer.
	maxValues = 2 << 20
	// maxRefusal bounds the body of an answer with an error, of which only a sentence is shown.
	maxRefusal = 64 << 10
	// maxMessage bounds a server's message in an error.
	maxMessage = 2 << 10
)

// ErrTooLong is the error of a body that is longer than 64 MiB, or has too many values. A retry does not help.
var ErrTooLong = fmt.Errorf("the answer is longer than %d MiB, or has more than %d values", maxAnswer>>20, maxValues)

// Apply bounds the body of an answer. Read fails with ErrTooLong beyond the bounds; the body of an answer with an error
// is cut.
func Apply(answer *http.Response) {
	left, excess := int64(maxAnswer), ErrTooLong
	if answer.StatusCode >= http.StatusBadRequest {
		left, excess = maxRefusal, io.EOF
	}
	answer.Body = &body{ReadCloser: answer.Body, left: left, excess: excess}
}

// body has at most so many bytes.
type body struct {
	io.ReadCloser
	left   int64
	excess error // of Read when more bytes come

	values          int
	quoted, escaped bool // of the JSON so far
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more tells a longer body from one that ends here
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), b.excess
	}
	b.left -= int64(n)
	if b.count(p[:n]); b.values > maxValues {
		return 0, ErrTooLong
	}
	return n, err
}

// count counts the members of objects and arrays in a part of a JSON text.
func (b *body) count(text []byte) {
	for _, c := range text {
		switch {
		case b.escaped:
			b.escaped = false
		case b.quoted && c == '\\':
			b.escaped = true
		case c == '"':
			b.quoted = !b.quoted
		case !b.quoted && (c == ',' || c == '{' || c == '['):
			b.values++
		}
	}
}

// Shorten cuts a server's message to 2 KiB.
func Shorten(text string) string { return bounded.Text(text, maxMessage) }
