package sol003

import (
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

// maxDepth is how deep the objects and lists of a request may be nested.
const maxDepth = 64

// readBody fills into (a pointer to a request) from the body, which has one of the media types, and returns the body.
func (c *call) readBody(into any, media ...string) (body []byte, err error) {
	if err := c.checkMedia(media); err != nil {
		return nil, err
	}
	tooLarge := &statusError{status: http.StatusRequestEntityTooLarge, detail: fmt.Sprintf("the body is larger than %d bytes", c.MaxBody)}
	if c.r.ContentLength > c.MaxBody {
		return nil, tooLarge
	}
	body, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, c.MaxBody))
	if _, exceeded := errors.AsType[*http.MaxBytesError](err); exceeded {
		return nil, tooLarge
	}
	if err != nil {
		return nil, badRequest("the body ends too early")
	}
	if err := checkJSON(body); err != nil {
		return nil, err
	}
	unknown, err := vnflcm.DecodeRequest(body, into)
	if len(unknown) > 0 {
		c.Logger.WarnContext(c.r.Context(), "unknown attributes in a request", "method", c.r.Method, "resource", c.r.Pattern, "attributes", bounded(unknown))
	}
	return body, err
}

// bounded returns the first of a list of names, each cut to a reasonable length.
func bounded(names []string) []string {
	const most = 20
	out := slices.Clone(names[:min(most, len(names))])
	for i, name := range out {
		out[i] = beginning(name)
	}
	return out
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

// checkJSON refuses a document that is not JSON, is nested too deeply, or names an attribute twice: a program on the way may
// have checked the first, and this one reads the last.
func checkJSON(data []byte) error {
	var document json.RawMessage
	if err := json.Unmarshal(data, &document); err != nil {
		return badRequest("the body is not JSON: " + err.Error())
	}
	if !utf8.Valid(data) {
		return badRequest("the body is not JSON: it is not UTF-8")
	}
	type level struct {
		names map[string]bool // nil in a list
		value bool            // the next token is the value of an attribute
	}
	var open []*level
	for tokens := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := tokens.Token()
		if err != nil {
			return nil // the end: the document is valid
		}
		if end := token == json.Delim('}') || token == json.Delim(']'); end {
			open = open[:len(open)-1]
			continue
		}
		if len(open) > 0 {
			in := open[len(open)-1]
			if name, ok := token.(string); ok && in.names != nil && !in.value {
				if in.names[name] {
					return badRequest(fmt.Sprintf("the body is ambiguous: an object has the attribute %q twice", beginning(name)))
				}
				in.names[name], in.value = true, true
				continue
			}
			in.value = false
		}
		switch token {
		case json.Delim('{'):
			open = append(open, &level{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, &level{})
		}
		if len(open) > maxDepth {
			return badRequest(fmt.Sprintf("the body is nested more than %d levels deep", maxDepth))
		}
	}
}

// accepts reports whether an Accept header allows application/json: the most specific range that covers it decides
// (RFC 9110 12.5.1). No header allows everything.
func accepts(header []string) bool {
	if strings.TrimSpace(strings.Join(header, "")) == "" {
		return true
	}
	ranges := []string{"*/*", "application/*", mediaJSON}
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
