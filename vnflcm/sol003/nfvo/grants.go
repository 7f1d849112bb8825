package nfvo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// grantVersions are the versions of the API for granting.
var grantVersions = map[SOL003]string{V261: "1.2.0", V331: "1.4.0"}

var _ vnflcm.Granter = (*Client)(nil)

// Ask sends a request for a grant (SOL003 v2.6.1 9.4.2.3.1). It is a method of vnflcm.Granter.
func (c *Client) Ask(ctx context.Context, request vnflcm.GrantRequest) (vnflcm.GrantAnswer, error) {
	body, err := c.grantBody(request)
	if err != nil {
		return vnflcm.GrantAnswer{}, err
	}
	return c.grant(ctx, http.MethodPost, c.at("grant", "v1", "grants"), body)
}

// Poll reads a grant that Ask has left undecided (SOL003 v2.6.1 9.4.3.3.2). It is a method of vnflcm.Granter.
func (c *Client) Poll(ctx context.Context, location string) (vnflcm.GrantAnswer, error) {
	at, err := c.located(c.root, location)
	if err != nil {
		return vnflcm.GrantAnswer{}, err
	}
	return c.grant(ctx, http.MethodGet, at, nil)
}

// grantBody returns the document of a request, with the links of this VNFM. It depends on nothing but the request and the Config.
func (c *Client) grantBody(request vnflcm.GrantRequest) ([]byte, error) {
	if c.lcm == "" && request.Links == nil {
		return nil, errors.New("nfvo: Config.LCM is required to ask for grants")
	}
	if request.Links == nil {
		request.Links = &vnflcm.GrantRequestLinks{
			VnfLcmOpOcc: vnflcm.Link{Href: c.lcm + "/vnf_lcm_op_occs/" + url.PathEscape(request.VnfLcmOpOccID)},
			VnfInstance: vnflcm.Link{Href: c.lcm + "/vnf_instances/" + url.PathEscape(request.VnfInstanceID)}}
	}
	for _, list := range []*[]vnflcm.ResourceDefinition{&request.AddResources, &request.TempResources, &request.RemoveResources, &request.UpdateResources} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i].VnfcID = "" // no attribute of SOL003
		}
	}
	return vnflcm.RevealJSON(request)
}

// grant sends a request about a grant and reads the answer.
func (c *Client) grant(ctx context.Context, method string, at *url.URL, body []byte) (vnflcm.GrantAnswer, error) {
	ctx, done := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %v", c.timeout))
	defer done()
	answer, err := c.do(ctx, request{method: method, url: at, version: grantVersions[c.version], body: body})
	if err != nil {
		return vnflcm.GrantAnswer{}, err
	}
	switch answer.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusAccepted:
		defer func() { _ = answer.Body.Close() }()
		return c.granted(at, answer)
	case http.StatusForbidden:
		return vnflcm.GrantAnswer{}, fmt.Errorf("%w: %w", vnflcm.ErrGrantRejected, c.refusal(answer))
	}
	return vnflcm.GrantAnswer{}, c.refusal(answer)
}

// maxGrant bounds a grant, in bytes: the record of the operation has it. The grant of a thousand VNFCs takes less than one MiB.
const maxGrant = 4 << 20

// granted reads a grant, or where to ask for it later. A grant that was cut on its way is read from its location.
func (c *Client) granted(asked *url.URL, answer *http.Response) (out vnflcm.GrantAnswer, err error) {
	text, errBody := bounded.Read(answer.Body, maxGrant)
	if errors.Is(errBody, bounded.ErrTooLarge) {
		return out, fmt.Errorf("the grant of the NFVO %w", errBody)
	}
	isWhole := errBody == nil && answer.StatusCode != http.StatusAccepted
	if location := answer.Header.Get("Location"); location != "" && !isWhole {
		at, err := c.located(asked, location)
		if err != nil {
			return out, err
		}
		out.Location = at.String()
	}
	switch isNew := answer.Request.Method == http.MethodPost; {
	case answer.StatusCode == http.StatusAccepted && isNew && out.Location == "":
		return out, errors.New("the NFVO accepts the request and names no location of the grant")
	case answer.StatusCode == http.StatusAccepted:
		out.After = retryAfter(answer.Header)
		return out, nil
	case errBody != nil && isNew && out.Location != "":
		return out, nil
	case errBody != nil:
		return out, &vnflcm.UnreachableError{Err: fmt.Errorf("reading the grant: %w", errBody), Sent: isNew}
	}
	out.Grant = new(vnflcm.Grant)
	if err := json.Unmarshal(text, out.Grant); err != nil {
		return out, fmt.Errorf("the grant of the NFVO cannot be read: %w", err)
	}
	if id := out.Grant.ID; id == "" || len(id) > maxID {
		return out, errors.New("the grant of the NFVO has no valid id")
	}
	return out, nil
}
