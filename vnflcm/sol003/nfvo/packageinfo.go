package nfvo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// packageAPIs are the roots of the package management API, and the values of the header Version.
var packageAPIs = map[SOL003]struct{ root, version string }{V261: {"/vnfpkgm/v1", "1.2.0"}, V331: {"/vnfpkgm/v2", "2.1.0"}}

// packageInfo is what the PackageCache reads of a VnfPkgInfo (SOL003 v2.6.1 and v3.3.1 10.5.2.2).
type packageInfo struct {
	ID               string   `json:"id"`
	VnfdID           string   `json:"vnfdId"`
	OnboardingState  string   `json:"onboardingState"`
	OperationalState string   `json:"operationalState"`
	Checksum         checksum `json:"checksum"`
	SoftwareImages   []struct {
		ImagePath string   `json:"imagePath"`
		Checksum  checksum `json:"checksum"`
	} `json:"softwareImages"`
	AdditionalArtifacts []struct {
		ArtifactPath string   `json:"artifactPath"`
		Checksum     checksum `json:"checksum"`
	} `json:"additionalArtifacts"`
}

// maxID is the length of the longest identifier.
const maxID = 255

// check reports whether the NFVO has answered with a package that can be stored.
func (i packageInfo) check() error {
	if i.ID == "" || len(i.ID) > maxID || strings.ContainsFunc(i.ID, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return errors.New("the NFVO answers with a package without a valid id")
	}
	return nil
}

// usable returns ErrNotFound if the package gets no new instances.
func (i packageInfo) usable() error {
	switch {
	case i.OnboardingState != "ONBOARDED":
		return fmt.Errorf("%w: package %s is not ONBOARDED at the NFVO", vnflcm.ErrNotFound, i.ID)
	case i.OperationalState != string(Enabled):
		return fmt.Errorf("%w: package %s is DISABLED at the NFVO", vnflcm.ErrNotFound, i.ID)
	}
	return nil
}

func (i packageInfo) state() State {
	if i.usable() != nil {
		return Disabled
	}
	return Enabled
}

// info asks the NFVO for a package.
func (c *PackageCache) info(ctx context.Context, id string) (now packageInfo, err error) {
	_, err = c.get(ctx, nil, &now, "vnf_packages", id)
	if isStatus(err, http.StatusNotFound) {
		return now, fmt.Errorf("%w: the NFVO does not have package %s", vnflcm.ErrNotFound, id)
	}
	if err == nil && now.ID != id {
		err = fmt.Errorf("the NFVO answers with another package than %s", id)
	}
	return now, err
}

// find asks the NFVO for the package with a VNFD. Version 1 of the API has only a filter for that.
func (c *PackageCache) find(ctx context.Context, vnfdID string) (found packageInfo, err error) {
	if c.client.version == V261 {
		return c.search(ctx, vnfdID)
	}
	_, err = c.get(ctx, nil, &found, "onboarded_vnf_packages", vnfdID)
	switch {
	case isStatus(err, http.StatusNotFound):
		return found, notOnboarded()
	case err != nil:
		return found, err
	case found.VnfdID != vnfdID:
		return found, errors.New("the NFVO answers with a package of another VNFD")
	}
	return found, found.check()
}

func notOnboarded() error {
	return fmt.Errorf("%w among the packages of the NFVO", vnflcm.ErrNotFound)
}

// maxPages is how many pages of a list are read. A list that is filtered by a VNFD has one or two packages.
const maxPages = 100

// search looks for the package with a VNFD in the list of packages. An NFVO may ignore the filter.
func (c *PackageCache) search(ctx context.Context, vnfdID string) (packageInfo, error) {
	query := url.Values{"filter": {"(eq,vnfdId," + filterValue(vnfdID) + ")"}}
	var found []packageInfo
	for range maxPages {
		var page []packageInfo
		header, err := c.get(ctx, query, &page, "vnf_packages")
		if err != nil {
			return packageInfo{}, err
		}
		for _, each := range page {
			if each.VnfdID == vnfdID && each.check() == nil && (len(found) == 0 || each.usable() == nil) {
				found = append(found, each)
			}
		}
		marker := nextPage(header)
		if marker == "" || len(found) > 2 { // two of them are usable
			return onlyUsable(found)
		}
		query.Set("nextpage_opaque_marker", marker)
	}
	return packageInfo{}, fmt.Errorf("the list of packages of the NFVO has more than %d pages", maxPages)
}

// onlyUsable returns the one package that takes new instances.
func onlyUsable(found []packageInfo) (packageInfo, error) {
	var usable []packageInfo
	for _, each := range found {
		if each.usable() == nil {
			usable = append(usable, each)
		}
	}
	switch {
	case len(usable) > 1:
		return packageInfo{}, fmt.Errorf("%w: several packages of the NFVO have this VNFD: %s and %s", vnflcm.ErrState, usable[0].ID, usable[1].ID)
	case len(usable) == 1:
		return usable[0], nil
	case len(found) > 0:
		return found[0], nil // usable says why it cannot be used
	}
	return packageInfo{}, notOnboarded()
}

// filterValue quotes a value of a filter if it has characters with a meaning there (SOL013 v2.6.1 5.2.2).
func filterValue(text string) string {
	if strings.ContainsAny(text, ",();' ") {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return text
}

// nextPage returns the marker of the next page (SOL013 v2.6.1 5.4.2.3), "" on the last one. The rest of the link is not used: requests are
// sent to the NFVO of the configuration only.
func nextPage(header http.Header) string {
	for _, value := range header.Values("Link") {
		target, params, _ := strings.Cut(value, ">")
		target = strings.TrimPrefix(strings.TrimSpace(target), "<")
		if next, err := url.Parse(target); err == nil && strings.Contains(strings.ReplaceAll(params, `"`, ""), "rel=next") {
			return next.Query().Get("nextpage_opaque_marker")
		}
	}
	return ""
}

// resource returns a resource of the package management API.
func (c *PackageCache) resource(query url.Values, elements ...string) *url.URL {
	escaped := make([]string, len(elements))
	for i, element := range elements {
		escaped[i] = url.PathEscape(element)
	}
	at := c.client.at(packageAPIs[c.client.version].root).JoinPath(escaped...)
	at.RawQuery = query.Encode()
	return at
}

// Bounds of a GET that is sent again, while a request of a client waits.
const (
	maxAttempts = 3
	maxPatience = 5 * time.Second
)

// get reads a JSON document of the NFVO.
func (c *PackageCache) get(ctx context.Context, query url.Values, into any, elements ...string) (http.Header, error) {
	for attempt := 1; ; attempt++ {
		header, err := c.getOnce(ctx, query, into, elements...)
		pause, mayPass := c.pauseAfter(err, attempt)
		if err == nil || !mayPass || attempt == maxAttempts || pause > maxPatience {
			return header, err
		}
		if err := retry.Pause(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func (c *PackageCache) getOnce(ctx context.Context, query url.Values, into any, elements ...string) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, c.client.timeout)
	defer cancel()
	answer, err := c.call(ctx, http.MethodGet, c.resource(query, elements...), nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, c.client.refusal(answer)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return nil, fmt.Errorf("the NFVO answers with a document that cannot be read: %w", withoutURL(err))
	}
	return answer.Header, nil
}

// call sends a request without a body, or with JSON.
func (c *PackageCache) call(ctx context.Context, method string, at *url.URL, body []byte) (*http.Response, error) {
	return c.client.do(ctx, request{method: method, url: at, version: packageAPIs[c.client.version].version, body: body})
}

// isStatus reports whether an error is an answer with this status.
func isStatus(err error, status int) bool {
	refused, is := errors.AsType[*statusError](err)
	return is && refused.status == status
}
