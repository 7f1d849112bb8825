package access

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Clients holds the clients of the services of one VIM for one identity. Operations share it: do not change it. For a
// request with another microversion use a copy of Nova.
type Clients struct {
	Heat, Nova, Neutron *gophercloud.ServiceClient
	// NovaMicroversion is the microversion of requests to Nova: the highest that Nova supports, up to the one in Config.
	NovaMicroversion string
	// Project is the id of the project of the credentials.
	Project string
	// Insecure says that certificates, or the names in them, are not verified. The driver logs a warning.
	Insecure bool

	id       identity
	offered  microversions
	limit    time.Duration // Config.ResponseTimeout
	glance   *gophercloud.ServiceClient
	noGlance error
}

// Glance returns the client of the image service, or ErrEndpoint if the service catalog has none. Cache.Clients does not
// report this error, because only VNFs with images to upload need the service.
func (c *Clients) Glance() (*gophercloud.ServiceClient, error) { return c.glance, c.noGlance }

func (c *Cache) authenticate(ctx context.Context, id identity) (*Clients, error) {
	provider, err := openstack.NewClient(id.Endpoint)
	if err != nil {
		return nil, id.explain(err, id.Endpoint, "")
	}
	provider.HTTPClient = id.httpClient(c.config)
	provider.RetryFunc = awaitRetry
	if c.config.UserAgent != "" {
		provider.UserAgent.Prepend(c.config.UserAgent)
	}
	// AuthenticateV3 does not read a version document. Links in that document could lead the credentials to another host.
	if err := openstack.AuthenticateV3(ctx, provider, id.options(), gophercloud.EndpointOpts{}); err != nil {
		return nil, id.explain(err, id.Endpoint, "")
	}
	if again := provider.ReauthFunc; again != nil {
		// Several operations wait for the one that gets the new token, and get its error. The end of that operation
		// must not fail the waiting operations, so the login continues without its context, for a bounded time.
		provider.ReauthFunc = func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.config.ResponseTimeout)
			defer cancel()
			return again(ctx)
		}
	}
	clients := &Clients{id: id, Insecure: id.Insecure || id.AnyHostname, limit: c.config.ResponseTimeout}
	if err := clients.locate(provider); err != nil {
		provider.HTTPClient.CloseIdleConnections()
		return nil, err
	}
	if err := clients.negotiate(ctx, c.config.NovaMicroversion); err != nil {
		provider.HTTPClient.CloseIdleConnections()
		return nil, err
	}
	return clients, nil
}

// locate finds the endpoints in the service catalog. gophercloud's search sends requests without a context.
func (c *Clients) locate(provider *gophercloud.ProviderClient) error {
	var catalog *tokens.ServiceCatalog
	var project *tokens.Project
	var err error
	switch result := provider.GetAuthResult().(type) {
	case tokens.CreateResult:
		catalog, err = result.ExtractServiceCatalog()
		project, _ = result.ExtractProject()
	case tokens.GetResult:
		catalog, err = result.ExtractServiceCatalog()
		project, _ = result.ExtractProject()
	}
	if err != nil || catalog == nil {
		return c.id.explain(fmt.Errorf("the answer of Keystone has no service catalog: %w", err), c.id.Endpoint, "")
	}
	if err := c.id.checkRegion(catalog, heatTypes, novaTypes, neutronTypes); err != nil {
		return err
	}
	if project != nil {
		c.Project = project.ID
	}
	for _, s := range []struct {
		into    **gophercloud.ServiceClient
		types   []string
		version string
	}{
		{&c.Heat, heatTypes, path.Join("v1", c.Project)},
		{&c.Nova, novaTypes, "v2.1"},
		{&c.Neutron, neutronTypes, "v2.0"},
	} {
		endpoint, err := c.id.find(catalog, s.types)
		if err != nil {
			return err
		}
		*s.into = &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: versioned(endpoint, s.version), Type: s.types[0]}
	}
	c.Neutron.ResourceBase = c.Neutron.Endpoint
	c.noGlance = c.locateGlance(provider, catalog)
	return nil
}

func (c *Clients) locateGlance(provider *gophercloud.ProviderClient, catalog *tokens.ServiceCatalog) error {
	if err := c.id.checkRegion(catalog, novaTypes, glanceTypes); err != nil {
		return err
	}
	endpoint, err := c.id.find(catalog, glanceTypes)
	if err != nil {
		return err
	}
	c.glance = &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: versioned(endpoint, "v2"), Type: glanceTypes[0]}
	return nil
}

// The types of the services in catalogs.
var (
	heatTypes    = []string{"orchestration"}
	novaTypes    = []string{"compute"}
	neutronTypes = []string{"network", "networking"}
	glanceTypes  = []string{"image"}
)

// checkRegion refuses a catalog with services of these types in several regions if the VIM's entry names no region.
// Otherwise the driver could combine Heat of one region with Nova of another.
func (id *identity) checkRegion(catalog *tokens.ServiceCatalog, types ...[]string) error {
	if id.Region != "" {
		return nil
	}
	regions := map[string]bool{}
	for _, entry := range catalog.Entries {
		for _, e := range entry.Endpoints {
			if e.Interface == id.Interface && slices.Contains(slices.Concat(types...), entry.Type) {
				regions[cmp.Or(e.RegionID, e.Region)] = true
			}
		}
	}
	if len(regions) < 2 {
		return nil
	}
	return &Error{Endpoint: id.Endpoint, kind: ErrEndpoint, Message: "the VIM names no region (accessInfo.region), and the service catalog has several: " +
		strings.Join(slices.Sorted(maps.Keys(regions)), ", ")}
}

// find returns the endpoint of the service for the region and the interface. Its error lists the endpoints in the catalog.
func (id *identity) find(catalog *tokens.ServiceCatalog, types []string) (string, error) {
	var there []string
	for _, entry := range catalog.Entries {
		if !slices.Contains(types, entry.Type) {
			continue
		}
		for _, e := range entry.Endpoints {
			if e.Interface == id.Interface && (id.Region == "" || e.Region == id.Region || e.RegionID == id.Region) {
				return e.URL, nil
			}
			there = append(there, e.Interface+" in "+e.RegionID)
		}
	}
	slices.Sort(there)
	offer := "there is none of this type"
	if len(there) > 0 {
		offer = "there are " + strings.Join(slices.Compact(there), ", ")
	}
	return "", &Error{Endpoint: id.Endpoint, kind: ErrEndpoint,
		Message: fmt.Sprintf("%s, interface %s, region %q: %s", types[0], id.Interface, id.Region, offer)}
}

var versionPattern = regexp.MustCompile(`^v[0-9]+(\.[0-9]+)?$`)

func versionSegment(s string) bool { return versionPattern.MatchString(s) }

// versioned adds the version of the API to an endpoint without one. Newer clouds have these endpoints.
func versioned(endpoint, version string) string {
	u, err := url.Parse(endpoint)
	if err != nil || slices.ContainsFunc(strings.Split(u.Path, "/"), versionSegment) {
		return gophercloud.NormalizeURL(endpoint)
	}
	return gophercloud.NormalizeURL(u.JoinPath(version).String())
}
