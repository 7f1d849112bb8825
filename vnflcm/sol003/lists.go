package sol003

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// markerParameter is the query parameter of the next page (SOL013 v2.6.1 5.4.2.3).
const markerParameter = "nextpage_opaque_marker"

// allRecords asks Tacker's API for packages for a list without pages.
const allRecords = "all_records"

var listParameters = []string{"filter", "all_fields", "fields", "exclude_fields", "exclude_default", markerParameter}

// listQuery is the parsed query of a list request.
type listQuery struct {
	parameters map[string]string
	filter     Filter
	leaveOut   selection
	after      string
}

// listQuery reads the query of a URI. further names parameters beside those of every list.
func (c *call) listQuery(a attributes, further ...string) (q listQuery, err error) {
	if q.parameters, err = c.query(append(further, listParameters...)...); err != nil {
		return q, err
	}
	if text, ok := q.parameters["filter"]; ok && text != "" {
		if q.filter, err = ParseFilter(text); err != nil {
			return q, badRequest(err.Error())
		}
	}
	for _, t := range q.filter.terms {
		if err := a.checkPath(t.path); err != nil {
			return q, err
		}
	}
	if q.leaveOut, err = a.selectAttributes(q.parameters); err != nil {
		return q, err
	}
	q.after = q.parameters[markerParameter]
	return q, nil
}

var errBadMarker = badRequest(markerParameter + ": is not that of a page")

// query reads the query of the URI, which has only these parameters. url.ParseQuery rejects a semicolon, but clients send the
// semicolons of filters unescaped.
func (c *call) query(known ...string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(c.r.URL.RawQuery, "&") {
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, errName := url.QueryUnescape(rawName)
		value, errValue := url.QueryUnescape(rawValue)
		if errName != nil || errValue != nil {
			return nil, badRequest("the query of the URI is not percent-encoded")
		}
		if name == "exclude-fields" { // Tacker's client writes it so
			name = "exclude_fields"
		}
		if !slices.Contains(known, name) {
			return nil, badRequest(fmt.Sprintf("the resource has no query parameter %q%s", beginning(name), didYouMean(name, known)))
		}
		if _, twice := out[name]; twice {
			return nil, badRequest(name + " comes twice")
		}
		out[name] = value
	}
	return out, nil
}

// lister makes the documents of a list.
type lister[T any] struct {
	query  listQuery
	render func(T) (object, error)
	err    error
}

// match returns a function for the conditions that the store cannot check; nil if there are none.
func (l *lister[T]) match(visible func(T) bool) func(T) bool {
	if len(l.query.filter.terms) == 0 && visible == nil {
		return nil
	}
	return func(item T) bool {
		if visible != nil && !visible(item) {
			return false
		}
		document, err := l.render(item)
		if err != nil {
			l.err = errors.Join(l.err, err)
			return false
		}
		return l.query.filter.Match(document) // it is made again when it is sent: a page of documents can be large
	}
}

// answer sends a page.
func (l *lister[T]) answer(c *call, page vnflcm.Page[T], err error) error {
	switch {
	case l.query.after != "" && errors.Is(err, vnflcm.ErrInvalidRequest):
		return errBadMarker
	case errors.Is(err, vnflcm.ErrUnreadable): // the page has the readable ones
		c.Logger.ErrorContext(c.r.Context(), "a list lacks records", "resource", c.r.Pattern, "error", vnflcm.Problem(err).Detail)
	case err != nil:
		return err
	}
	if l.err != nil {
		return l.err
	}
	if page.Next != "" {
		c.w.Header().Set("Link", "<"+c.nextPage(l.query.parameters, page.Next)+`>; rel="next"`)
	}
	l.send(c, page.Items)
	return nil
}

// send sends the documents one at a time, and drops each item. If a document cannot be made, it cuts the connection: a list that
// ends early would be taken for a whole one.
func (l *lister[T]) send(c *call, items []T) {
	c.w.Header().Set("Content-Type", mediaJSON)
	c.w.WriteHeader(http.StatusOK)
	text := []byte("[") // what is sent next; an error of Write means that the client has disconnected
	for i, item := range items {
		clear(items[i : i+1])
		document, err := l.marshal(item)
		if err != nil {
			c.Logger.ErrorContext(c.r.Context(), "a list is cut", "resource", c.r.Pattern, "error", vnflcm.Problem(err).Detail)
			panic(http.ErrAbortHandler)
		}
		if _, err := c.w.Write(append(text, document...)); err != nil {
			return
		}
		text = []byte(",")
	}
	if len(items) > 0 {
		text = nil
	}
	_, _ = c.w.Write(append(text, ']'))
}

// marshal returns a document with the attributes that the list shows.
func (l *lister[T]) marshal(item T) ([]byte, error) {
	document, err := l.render(item)
	if err != nil {
		return nil, err
	}
	l.query.leaveOut.apply(document)
	return json.Marshal(document)
}

// nextPage returns the URI of the page after the one that ends at a place, with the same filter and selectors.
func (c *call) nextPage(parameters map[string]string, end string) string {
	query := url.Values{markerParameter: {end}}
	for name, value := range parameters {
		switch {
		case name == markerParameter:
		case name == "all_fields", name == "exclude_default":
			query.Set(name, "true") // Tacker's client drops parameters without a value
		case value != "":
			query.Set(name, value)
		}
	}
	return c.root() + c.r.URL.EscapedPath() + "?" + query.Encode()
}

func newLister[T any](q listQuery, render func(T) (object, error)) *lister[T] {
	return &lister[T]{query: q, render: render}
}
