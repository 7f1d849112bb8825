package sol003

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/vnflcm"
)

const (
	mediaJSON  = "application/json"
	mediaPatch = "application/merge-patch+json"
)

// The limits of a body, beside Options.MaxBody. The time to describe the faults of a request grows with the square of their
// number, and with the length of their paths.
const (
	maxDepth  = 64   // of objects and lists
	maxValues = 5000 // objects, lists, texts, numbers, booleans, nulls
	maxPath   = 2048 // bytes of the names that lead to an attribute
	maxFaults = 100  // that an answer names

	maxWarnings = 20 // that an answer names
)

// readBody fills into (a pointer to a request) from the body, which has one of the media types, and returns the body.
func (c *call) readBody(into any, media ...string) (body []byte, err error) {
	if err := c.checkMedia(media); err != nil {
		return nil, err
	}
	tooLarge := &statusError{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("the body is larger than %d bytes", c.MaxBody)}
	if c.r.ContentLength > c.MaxBody {
		return nil, tooLarge
	}
	body, err = io.ReadAll(http.MaxBytesReader(plain(c.w), c.r.Body, c.MaxBody))
	if _, exceeded := errors.AsType[*http.MaxBytesError](err); exceeded {
		return nil, tooLarge
	}
	if err != nil {
		return nil, badRequest("the body ends too early")
	}
	if err := checkJSON(body); err != nil {
		return nil, err
	}
	warnings, err := vnflcm.DecodeRequest(body, into)
	c.warn(warnings)
	return body, firstFaults(err)
}

// warn names attributes without effect in the header Warning (RFC 7234 5.5) and in the log.
func (c *call) warn(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	warnings = warnings[:min(maxWarnings, len(warnings))]
	c.Logger.WarnContext(c.r.Context(), "attributes without effect in a request", "method", c.r.Method, "resource", c.r.Pattern, "attributes", warnings)
	var values []string
	for _, w := range warnings {
		values = append(values, "299 - "+strconv.QuoteToASCII(w))
	}
	c.w.Header().Set("Warning", strings.Join(values, ", "))
}

// emptyBody is the body of a task without attributes.
type emptyBody struct{}

// readNoBody reads the body of a task that has none. It accepts an empty object, and null, which clients send that encode a missing body.
// Attributes are refused, because the client expects an effect of them.
func (c *call) readNoBody() error {
	body := bufio.NewReader(c.r.Body)
	if _, err := body.Peek(1); errors.Is(err, io.EOF) {
		return nil
	}
	c.r.Body = io.NopCloser(body)
	text, err := c.readBody(new(emptyBody), mediaJSON)
	if string(bytes.TrimSpace(text)) == "null" {
		return nil
	}
	return err
}

// checkMedia refuses bodies of another media type, and encoded ones (RFC 9110 15.5.16).
func (c *call) checkMedia(media []string) error {
	got, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	encoding := c.r.Header.Get("Content-Encoding")
	if err == nil && slices.Contains(media, got) && (encoding == "" || strings.EqualFold(encoding, "identity")) {
		return nil
	}
	header := "Accept"
	if c.r.Method == http.MethodPatch {
		header = "Accept-Patch" // RFC 5789 2.2
	}
	supported := strings.Join(media, ", ")
	return &statusError{status: http.StatusUnsupportedMediaType, detail: "the body must be " + supported + ", without Content-Encoding",
		header: http.Header{header: {supported}}}
}

// checkJSON refuses a document that is not JSON, exceeds the limits, or names an attribute twice: a proxy may have
// checked the first value, while this program reads the last.
func checkJSON(data []byte) error {
	var document json.RawMessage
	if err := json.Unmarshal(data, &document); err != nil {
		return badRequest("the body is not JSON: " + err.Error())
	}
	if !utf8.Valid(data) {
		return badRequest("the body is not JSON: it is not UTF-8")
	}
	var c jsonChecker
	for tokens := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := tokens.Token()
		if err != nil {
			return nil // the end: the document is valid
		}
		if err := c.token(token); err != nil {
			return err
		}
	}
}

// jsonChecker reads the tokens of a valid document.
type jsonChecker struct {
	open   []jsonLevel
	values int
}

// jsonLevel is an object or a list that has not ended.
type jsonLevel struct {
	names   map[string]bool // nil in a list
	named   bool            // the next token is the value of an attribute
	pathLen int             // of the names above and of the latest name here
}

func (c *jsonChecker) token(token json.Token) error {
	if token == json.Delim('}') || token == json.Delim(']') {
		c.open = c.open[:len(c.open)-1]
		return nil
	}
	above := 0
	if len(c.open) > 0 {
		in := &c.open[len(c.open)-1]
		if in.names != nil && !in.named {
			name, _ := token.(string)
			return c.name(in, name)
		}
		in.named, above = false, in.pathLen
	}
	if c.values++; c.values > maxValues {
		return badRequest(fmt.Sprintf("the body has more than %d values", maxValues))
	}
	switch token {
	case json.Delim('{'):
		c.open = append(c.open, jsonLevel{names: map[string]bool{}, pathLen: above})
	case json.Delim('['):
		c.open = append(c.open, jsonLevel{pathLen: above})
	}
	if len(c.open) > maxDepth {
		return badRequest(fmt.Sprintf("the body is nested more than %d levels deep", maxDepth))
	}
	return nil
}

func (c *jsonChecker) name(in *jsonLevel, name string) error {
	if in.names[name] {
		return badRequest(fmt.Sprintf("the body is ambiguous: an object has the attribute %q twice", beginning(name)))
	}
	in.names[name], in.named, in.pathLen = true, true, len(name)
	if len(c.open) > 1 {
		in.pathLen += c.open[len(c.open)-2].pathLen
	}
	if in.pathLen > maxPath {
		return badRequest(fmt.Sprintf("the body has an attribute whose path is longer than %d bytes", maxPath))
	}
	return nil
}

// firstFaults returns the first faults of a request. Each has the path of an attribute: many faults of a small request would
// be a large answer.
func firstFaults(err error) error {
	all := faults(err)
	if len(all) <= maxFaults {
		return err
	}
	return errors.Join(errors.Join(all[:maxFaults]...), fmt.Errorf("and %d further faults", len(all)-maxFaults))
}

// faults are the errors that were joined.
func faults(err error) (out []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, each := range joined.Unwrap() {
		out = append(out, faults(each)...)
	}
	return out
}

// accepts reports whether an Accept header allows a media type: the most specific range that covers it decides
// (RFC 9110 12.5.1). No header allows everything.
func accepts(header []string, media string) bool {
	if strings.TrimSpace(strings.Join(header, "")) == "" {
		return true
	}
	kind, _, _ := strings.Cut(media, "/")
	ranges := []string{"*/*", kind + "/*", media}
	best, allowed := -1, false
	for each := range strings.SplitSeq(strings.Join(header, ","), ",") {
		name, params, err := mime.ParseMediaType(each)
		if err != nil {
			continue
		}
		if at := slices.Index(ranges, name); at > best {
			quality, err := strconv.ParseFloat(params["q"], 64)
			best, allowed = at, params["q"] == "" || err == nil && quality > 0
		}
	}
	return allowed
}

func (c *call) accept() []string { return c.r.Header.Values("Accept") }

func notAcceptable(media ...string) error {
	return &statusError{status: http.StatusNotAcceptable, detail: "the answer is " + strings.Join(media, " or ")}
}
