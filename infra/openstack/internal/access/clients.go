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

// Clients talk to the services of one VIM as one identity. They are shared: do not change them; a request
// for another microversion is made with a copy of Nova.
type Clients struct {
	Heat, Nova, Neutron *gophercloud.ServiceClient
	// NovaMicroversion is what Nova is asked by: the highest it has, up to the one in Config.
	NovaMicroversion string
	// Project is the id of the project that the credentials are for.
	Project string
	// Insecure tells that certificates or their names are not verified, for a warning.
	Insecure bool

	id       identity
	offered  microversions
	limit    time.Duration // Config.ResponseTimeout
	glance   *gophercloud.ServiceClient
	noGlance error
}

// Glance returns the client of the image service. Only VNFs whose images are uploaded need the service: a catalog without it is
// reported here, not by Cache.Clients.
func (c *Clients) Glance() (*gophercloud.ServiceClient, error) { return c.glance, c.noGlance }

func (c *Cache) authenticate(ctx context.Context, id identity) (*Clients, error) {
	provider, err := openstack.NewClient(id.Endpoint)
	if err != nil {
		return nil, id.explain(err, id.Endpoint, "")
	}
	provider.HTTPClient = id.httpClient(c.config.ResponseTimeout, c.config.Transport)
	provider.RetryFunc = retry
	if c.config.UserAgent != "" {
		provider.UserAgent.Prepend(c.config.UserAgent)
	}
	// AuthenticateV3 asks for no version document, whose links could lead the credentials elsewhere.
	if err := openstack.AuthenticateV3(ctx, provider, id.options(), gophercloud.EndpointOpts{}); err != nil {
		return nil, id.explain(err, id.Endpoint, "")
	}
	if again := provider.ReauthFunc; again != nil {
		// Those who wait for the new token get the error of the one who fetches it: the end of one
		// operation must not end the others. So it goes on without its context, for a bounded time.
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

// locate finds the endpoints. gophercloud's own search asks services without a context.
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

// The names of the services in catalogs.
var (
	heatTypes    = []string{"orchestration"}
	novaTypes    = []string{"compute"}
	neutronTypes = []string{"network", "networking"}
	glanceTypes  = []string{"image"}
)

// checkRegion refuses a catalog that has services of these types in several regions if the VIM names none: Heat of one region
// would be used with Nova of another.
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

// find returns the one endpoint that fits, or says what there is.
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

// versioned adds the version of the API to an endpoint that leaves it out, as those of newer clouds do.
func versioned(endpoint, version string) string {
	u, err := url.Parse(endpoint)
	if err != nil || slices.ContainsFunc(strings.Split(u.Path, "/"), versionSegment) {
		return gophercloud.NormalizeURL(endpoint)
	}
	return gophercloud.NormalizeURL(u.JoinPath(version).String())
}
