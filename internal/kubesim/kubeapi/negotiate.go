package kubeapi

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

const (
	mediaJSON = "application/json"
	mediaYAML = "application/yaml"
)

// mediaTypes are the media types of documents, in requests and answers; the first one is the default. They are those that a real API
// server has for custom kinds: built-in kinds have protobuf too.
var mediaTypes = []string{mediaJSON, mediaYAML}

// negotiate chooses the media type of the answer by the header Accept, as k8s.io/apiserver/pkg/endpoints/handlers/negotiation does.
func (q *request) negotiate() error {
	header := q.http.Header.Get("Accept")
	if header == "" {
		return nil
	}
	for _, accepted := range parseAccept(header) {
		if i := slices.IndexFunc(mediaTypes, accepted.covers); i >= 0 {
			q.media = mediaTypes[i]
			return nil
		}
	}
	return apiFault(http.StatusNotAcceptable, "NotAcceptable", "only the following media types are accepted: %s", strings.Join(mediaTypes, ", "))
}

// mediaRange is a part of the header Accept.
type mediaRange struct {
	kind, subtype string
	quality       float64
	transforms    bool // it asks for another form of the object, such as a table
}

// parseAccept returns the ranges of the header, the preferred one first.
func parseAccept(header string) (ranges []mediaRange) {
	for part := range strings.SplitSeq(header, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		r := mediaRange{quality: 1, transforms: params["as"] != "" || params["g"] != "" || params["v"] != ""}
		r.kind, r.subtype, _ = strings.Cut(name, "/")
		if text, given := params["q"]; given {
			if r.quality, err = strconv.ParseFloat(text, 64); err != nil {
				r.quality = 1
			}
		}
		ranges = append(ranges, r)
	}
	slices.SortStableFunc(ranges, func(a, b mediaRange) int { return cmp.Compare(b.quality, a.quality) })
	return ranges
}

// covers reports whether the range contains a media type of documents.
func (r mediaRange) covers(media string) bool {
	kind, subtype, _ := strings.Cut(media, "/")
	return !r.transforms && (r.kind == kind && (r.subtype == subtype || r.subtype == "*") || r.kind == "*" && r.subtype == "*")
}

// checkStream refuses a watch in a media type other than JSON.
func (q *request) checkStream() error {
	if q.media == mediaYAML {
		return apiFault(http.StatusNotAcceptable, "NotAcceptable", "only the following media types are accepted: %s;stream=watch", mediaJSON)
	}
	return nil
}

// readMedia refuses a body of an unknown media type, and makes JSON of YAML. A server does so before it looks for the object.
func (q *request) readMedia() error {
	switch {
	case q.http.Method == http.MethodPatch:
		if types := q.patchTypes(); !slices.Contains(types, q.patchType()) {
			return unsupportedMedia(types)
		}
		return nil
	case q.http.Method == http.MethodGet, q.http.Method == http.MethodDelete && len(q.body) == 0:
		return nil
	}
	media, _, err := mime.ParseMediaType(cmp.Or(q.http.Header.Get("Content-Type"), mediaJSON))
	if err != nil || !slices.Contains(mediaTypes, media) {
		return unsupportedMedia(mediaTypes)
	}
	if media == mediaYAML {
		if q.body, err = yaml.YAMLToJSON(q.body); err != nil {
			return apiFault(http.StatusBadRequest, "BadRequest", "error decoding the body: %v", err)
		}
	}
	return nil
}

func unsupportedMedia(accepted []string) error {
	return apiFault(http.StatusUnsupportedMediaType, "UnsupportedMediaType",
		"the body of the request was in an unknown format - accepted media types include: %s", strings.Join(accepted, ", "))
}

// encoded returns a JSON document in the media type of the answer.
func (q *request) encoded(text []byte) (body []byte, contentType string) {
	if q.media == mediaYAML {
		if body, err := yaml.JSONToYAML(text); err == nil {
			return body, mediaYAML
		}
	}
	return text, mediaJSON
}
