package access

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// microversions is the range of microversions that a service supports.
type microversions struct{ min, max string }

// negotiate reads the range of Nova's microversions from the version document at the root of the endpoint.
func (c *Clients) negotiate(ctx context.Context, wanted string) error {
	root := c.Nova.Endpoint
	if i := strings.Index(root, "/v2.1/"); i >= 0 {
		root = root[:i+len("/v2.1/")] // the endpoints of older catalogs end in the id of the project
	}
	var document struct {
		Version struct {
			Max string `json:"version"`
			Min string `json:"min_version"`
		} `json:"version"`
	}
	_, err := c.Nova.Get(ctx, root, &document, nil) //nolint:bodyclose // gophercloud closes what it decodes
	if err != nil {
		return c.id.explain(err, root, "")
	}
	c.offered = microversions{document.Version.Min, document.Version.Max}
	c.NovaMicroversion = wanted
	if older(c.offered.max, wanted) {
		c.NovaMicroversion = c.offered.max
	}
	if c.offered.max == "" || older(c.NovaMicroversion, c.offered.min) {
		return &Error{Endpoint: root, kind: ErrMicroversion, Message: fmt.Sprintf("up to %s can be used, %q to %q is offered",
			wanted, c.offered.min, c.offered.max)}
	}
	c.Nova.Microversion = c.NovaMicroversion
	return nil
}

// Require returns ErrMicroversion if the negotiated microversion of Nova is older than since.
func (c *Clients) Require(since string) error {
	if !older(c.NovaMicroversion, since) {
		return nil
	}
	return &Error{Endpoint: c.Nova.Endpoint, kind: ErrMicroversion,
		Message: fmt.Sprintf("compute microversion %s is needed, %s to %s is offered", since, c.offered.min, c.offered.max)}
}

// older reports whether the microversion a is older than b. A text that is not a microversion is older than every
// microversion.
func older(a, b string) bool {
	a1, a2 := numbers(a)
	b1, b2 := numbers(b)
	return a1 < b1 || a1 == b1 && a2 < b2
}

func numbers(version string) (major, minor int) {
	left, right, _ := strings.Cut(version, ".")
	major, err1 := strconv.Atoi(left)
	minor, err2 := strconv.Atoi(right)
	if err1 != nil || err2 != nil {
		return 0, 0
	}
	return major, minor
}
