package sol003

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
)

// packageRoutes are the resources of packages, which an admin changes. Paths of the standard that are missing here do not exist.
func packageRoutes() []route {
	const one, byVnfd = "/vnf_packages/{id}", "/onboarded_vnf_packages/{vnfdId}"
	reading := map[string]func(*call) error{"/vnfd": (*call).readVnfd, "/package_content": (*call).readPackageContent, "/artifacts/{path...}": (*call).readArtifact}
	of1 := map[string]methods{
		apiVersionsPath:                          {http.MethodGet: (*call).apiVersions},
		"/vnf_packages":                          {http.MethodPost: (*call).createPackage, http.MethodGet: (*call).listPackages},
		one:                                      {http.MethodGet: (*call).readPackage, http.MethodPatch: (*call).modifyPackage, http.MethodDelete: (*call).deletePackage},
		one + "/package_content/upload_from_uri": {http.MethodPost: (*call).uploadFromURI},
	}
	of2 := map[string]methods{
		apiVersionsPath:           {http.MethodGet: (*call).apiVersions},
		"/vnf_packages":           {http.MethodGet: (*call).listPackages},
		"/onboarded_vnf_packages": {http.MethodGet: (*call).listOnboardedPackages},
		one:                       {http.MethodGet: (*call).readPackage},
		byVnfd:                    {http.MethodGet: (*call).readPackage},
	}
	list := []route{{pattern: "/vnfpkgm" + apiVersionsPath, changes: RoleAdmin, methods: methods{http.MethodGet: (*call).apiVersions}}}
	add := func(api *apiVersion, served map[string]methods, isContent bool) {
		for pattern, m := range served {
			list = append(list, route{pattern: api.prefix() + pattern, api: api, changes: RoleAdmin, methods: m, isContent: isContent})
		}
	}
	files := func(api *apiVersion, prefix string) map[string]methods {
		out := map[string]methods{}
		for pattern, read := range reading {
			out[prefix+pattern] = methods{http.MethodGet: read}
		}
		return out
	}
	for _, api := range []*apiVersion{packages1, packages2} {
		list = append(list, route{pattern: api.prefix() + "/", api: api, changes: RoleAdmin})
	}
	add(packages1, of1, false)
	content := files(packages1, one)
	content[one+"/package_content"][http.MethodPut] = (*call).uploadPackage
	add(packages1, content, true)
	add(packages2, of2, false)
	reading["/manifest"], reading["/artifacts"] = (*call).readManifest, (*call).readArtifacts
	add(packages2, files(packages2, one), true)
	add(packages2, files(packages2, byVnfd), true)
	return list
}

func (c *call) packageURI(id string) string {
	return c.root() + c.api.prefix() + "/vnf_packages/" + url.PathEscape(id)
}

// renderPackage returns the document of a package (SOL003 v2.6.1 10.5.2.2, v3.3.1 10.5.2.2).
func (c *call) renderPackage(info *onboarding.VnfPkgInfo) (object, error) {
	document, err := readObject(json.Marshal(info))
	if err != nil {
		return nil, err
	}
	links := newLinks(c.packageURI(info.ID))
	links.add("packageContent", "package_content")
	if info.OnboardingState == onboarding.Onboarded {
		links.add("vnfd", "vnfd")
	}
	document["_links"] = links.list
	if c.api == packages1 {
		toVersion1(document)
	} else {
		toVersion2(document)
	}
	return document, nil
}

// toVersion1 changes a document of version 2. SOL003 v2.6.1 has no state ERROR: a package whose onboarding has failed is CREATED, since
// it can be uploaded again, and keeps onboardingFailureDetails, which v2.6.1 does not have. imagePath is mandatory there.
func toVersion1(document object) {
	if document["onboardingState"] == string(onboarding.Failed) {
		document["onboardingState"] = string(onboarding.Created)
	}
	for _, name := range []string{"packageSecurityOption", "signingCertificate", "vnfmInfo", "compatibleSpecificationVersions"} {
		delete(document, name)
	}
	images, _ := document["softwareImages"].([]any)
	for _, each := range images {
		if image, _ := each.(object); image["imagePath"] == nil {
			image["imagePath"] = image["imageUri"]
		}
	}
}

// toVersion2 adds the attributes that version 2 requires also before there is a content.
func toVersion2(document object) {
	for name, value := range map[string]any{"packageSecurityOption": "OPTION_1", "vnfmInfo": []any{}} {
		if document[name] == nil {
			document[name] = value
		}
	}
}

// readPackage answers SOL003 v2.6.1 10.4.3.3.2.
func (c *call) readPackage() error {
	info, err := c.ownPackage()
	if err != nil {
		return err
	}
	document, err := c.renderPackage(info)
	if err != nil {
		return err
	}
	return c.document(http.StatusOK, document)
}

// ownPackage returns the package that the path names, by its id or by the id of its VNFD.
func (c *call) ownPackage() (*onboarding.VnfPkgInfo, error) {
	ctx := c.r.Context()
	if vnfdID := c.r.PathValue("vnfdId"); vnfdID != "" {
		return c.Packages.Onboarded(ctx, c.who.Tenant, vnfdID)
	}
	return c.Packages.Get(ctx, c.who.Tenant, c.r.PathValue("id"))
}

// createPackage answers SOL005 v2.6.1 9.4.2.3.1.
func (c *call) createPackage() error {
	var req struct {
		UserDefinedData vnflcm.KeyValuePairs `json:"userDefinedData"`
	}
	if _, err := c.readBody(&req, mediaJSON); err != nil {
		return err
	}
	info, err := c.Packages.Create(c.r.Context(), c.who.Tenant, req.UserDefinedData)
	if err != nil {
		return err
	}
	document, err := c.renderPackage(info)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", c.packageURI(info.ID))
	return c.document(http.StatusCreated, document)
}

// modifyPackage answers SOL005 v2.6.1 9.4.3.3.4: with the attributes that have changed.
func (c *call) modifyPackage() error {
	var req onboarding.Modification
	if _, err := c.readBody(&req, mediaPatch, mediaJSON); err != nil {
		return err
	}
	info, err := c.Packages.Update(c.r.Context(), c.who.Tenant, c.r.PathValue("id"), req)
	if err != nil {
		return err
	}
	changed := object{}
	if req.OperationalState != "" {
		changed["operationalState"] = info.OperationalState
	}
	if req.UserDefinedData != nil {
		changed["userDefinedData"] = info.UserDefinedData
	}
	return c.document(http.StatusOK, changed)
}

// deletePackage answers SOL005 v2.6.1 9.4.3.3.5.
func (c *call) deletePackage() error {
	if err := c.Packages.Delete(c.r.Context(), c.who.Tenant, c.r.PathValue("id")); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// uploadPackage answers SOL005 v2.6.1 9.4.5.3.3. What can be refused is refused before the body is read, so that a client with
// "Expect: 100-continue" does not send it.
func (c *call) uploadPackage() error {
	if err := c.checkMedia([]string{mediaZip, mediaBinary}); err != nil {
		return err
	}
	err := c.readSteadily(func(body io.Reader) error {
		return c.Packages.Upload(c.r.Context(), c.who.Tenant, c.r.PathValue("id"), body, c.r.ContentLength)
	})
	if err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusAccepted)
	return nil
}

// uploadFromURI answers SOL005 v2.6.1 9.4.6.3.1.
func (c *call) uploadFromURI() error {
	var req onboarding.Address
	if _, err := c.readBody(&req, mediaJSON); err != nil {
		return err
	}
	if err := c.Packages.UploadFromURI(c.r.Context(), c.who.Tenant, c.r.PathValue("id"), req); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusAccepted)
	return nil
}

// Packages is the part of *onboarding.Repository that the handler uses. A package of another tenant does not exist.
type Packages interface {
	Create(ctx context.Context, tenant string, userDefinedData vnflcm.KeyValuePairs) (*onboarding.VnfPkgInfo, error)
	Get(ctx context.Context, tenant, id string) (*onboarding.VnfPkgInfo, error)
	// Onboarded returns the package with a VNFD that the tenant's instances are created from.
	Onboarded(ctx context.Context, tenant, vnfdID string) (*onboarding.VnfPkgInfo, error)
	// List returns at most limit packages after the id after; 0: all.
	List(ctx context.Context, tenant, after string, limit int) (vnflcm.Page[*onboarding.VnfPkgInfo], error)
	Update(ctx context.Context, tenant, id string, m onboarding.Modification) (*onboarding.VnfPkgInfo, error)
	Delete(ctx context.Context, tenant, id string) error
	// Upload reads the content, of size bytes or, if size is -1, of an unknown number. It reads nothing if the package cannot be uploaded.
	Upload(ctx context.Context, tenant, id string, content io.Reader, size int64) error
	UploadFromURI(ctx context.Context, tenant, id string, from onboarding.Address) error
	// Content opens the file that was uploaded, and Package its content.
	Content(ctx context.Context, tenant, id string) (*onboarding.Content, error)
	Package(ctx context.Context, tenant, id string) (*tosca.Package, error)
}

// packageStatuses are the statuses of errors that are no codes of package vnflcm.
var packageStatuses = []struct {
	err    error
	status int
}{
	{onboarding.ErrShared, http.StatusForbidden}, {onboarding.ErrTooLarge, http.StatusRequestEntityTooLarge}, {onboarding.ErrNoSpace, http.StatusInsufficientStorage},
}

// packageAttributes are those of SOL003 v3.3.1 10.4.2.3.2; what v2.6.1 does not have is never in its documents.
var packageAttributes = attributesOf(reflect.TypeFor[onboarding.VnfPkgInfo](), nil,
	"softwareImages", "additionalArtifacts", "userDefinedData", "checksum", "onboardingFailureDetails")

// listPackages answers SOL003 v2.6.1 10.4.2.3.2.
func (c *call) listPackages() error {
	return c.sendPackages(nil)
}

// listOnboardedPackages answers SOL003 v3.3.1 10.4.2.3.2.
func (c *call) listOnboardedPackages() error {
	return c.sendPackages(func(info *onboarding.VnfPkgInfo) bool { return info.OnboardingState == onboarding.Onboarded })
}

func (c *call) sendPackages(visible func(*onboarding.VnfPkgInfo) bool) error {
	query, err := c.listQuery(packageAttributes, allRecords)
	if err != nil {
		return err
	}
	list, limit := newLister(query, c.renderPackage), c.PageSize
	if query.parameters[allRecords] == "yes" {
		limit = 0
	}
	page, err := c.matchingPackages(query.after, limit, list.match(visible))
	return list.answer(c, page, err)
}

// matchingPackages returns the next page of packages that has one that matches, or the last page.
func (c *call) matchingPackages(after string, limit int, match func(*onboarding.VnfPkgInfo) bool) (vnflcm.Page[*onboarding.VnfPkgInfo], error) {
	var unreadable error
	for {
		page, err := c.Packages.List(c.r.Context(), c.who.Tenant, after, limit)
		if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
			return page, err
		}
		unreadable = errors.Join(unreadable, err)
		if match != nil {
			page.Items = slices.DeleteFunc(page.Items, func(info *onboarding.VnfPkgInfo) bool { return !match(info) })
		}
		if after = page.Next; after == "" || len(page.Items) > 0 {
			return page, unreadable
		}
	}
}
