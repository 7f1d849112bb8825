package sol003_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checker validates every answer with the schemas of ETSI.
type checker struct {
	t       *testing.T
	schemas map[string]*jsonschema.Schema
	openapi map[string]routers.Router // by API; empty without VNFKIT_CORPUS
}

// The files of the schemas, below vnflcm/testdata/sol003.
const (
	problemSchema = "2.6.1/ProblemDetails.schema.json"
)

var documentSchemas = map[string]string{
	"v1/vnf_instances": "2.6.1/vnfInstance.schema.json", "v1/vnf_lcm_op_occs": "2.6.1/vnfLcmOpOcc.schema.json",
	"v2/vnf_instances": "3.3.1/VnfInstance.json", "v2/vnf_lcm_op_occs": "3.3.1/VnfLcmOpOcc.json",
	"v1/subscriptions": "2.6.1/LccnSubscription.schema.json", "v2/subscriptions": "3.3.1/LccnSubscription.json",
}

// notificationSchemas are the schemas of version 1. The OpenAPI definition of version 2 has no schemas of notifications.
var notificationSchemas = map[any]string{
	"VnfLcmOperationOccurrenceNotification": "2.6.1/VnfLcmOperationOccurrenceNotification.schema.json",
	"VnfIdentifierCreationNotification":     "2.6.1/VnfIdentifierCreationNotification.schema.json",
	"VnfIdentifierDeletionNotification":     "2.6.1/vnfIdentifierDeletionNotification.schema.json",
}

var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	out := map[string]*jsonschema.Schema{}
	for _, file := range documentSchemas {
		for _, kind := range []string{"", "list "} {
			schema, err := compileSchema(file, kind != "")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			out[kind+file] = schema
		}
	}
	for _, file := range append(slices.Collect(maps.Values(notificationSchemas)), problemSchema) {
		schema, err := compileSchema(file, false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out[file] = schema
	}
	return out, nil
})

// compileSchema compiles a schema. In the items of a list optional attributes may be missing (correctList).
func compileSchema(file string, inList bool) (*jsonschema.Schema, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join("..", "testdata", "sol003", file)
	}
	text, err := os.ReadFile(file) //nolint:gosec // test data
	if err != nil {
		return nil, err
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	correct(tree)
	if inList {
		correctList(tree)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	c.AssertFormat()
	for name, valid := range map[string]func(string) error{
		"IP":  func(s string) error { _, err := netip.ParseAddr(s); return err },
		"MAC": func(s string) error { _, err := net.ParseMAC(s); return err },
	} {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			s, _ := v.(string)
			return valid(s)
		}})
	}
	if err := c.AddResource(file, tree); err != nil {
		return nil, err
	}
	return c.Compile(file)
}

// correct corrects the OpenAPI definition of SOL003 v3.3.1 where it deviates from the specification, which takes precedence over it: see
// schema_test.go of package vnflcm.
func correct(schema any) {
	switch s := schema.(type) {
	case array:
		for _, each := range s {
			correct(each)
		}
	case object:
		properties, _ := s["properties"].(object)
		if properties["ipAddresses"] != nil {
			delete(s, "oneOf")
		}
		// The definition requires one of several alternatives, of which one is misspelt. SOL003 v3.3.1 4.4.1.5 requires none of
		// them.
		if properties["vnfInstanceNames"] != nil {
			delete(s, "anyOf")
		}
		for _, p := range properties {
			correct(p)
		}
		for _, name := range []string{"items", "oneOf", "anyOf", "additionalProperties"} {
			correct(s[name])
		}
	}
}

// correctList corrects the schemas for the items of a list: there operationParams "may be present according to the chosen attribute
// selector" (SOL003 v2.6.1 5.5.2.13), and so may changedInfo.
func correctList(schema any) {
	s := schema.(object)
	required, _ := s["required"].(array)
	s["required"] = slices.DeleteFunc(required, func(name any) bool { return name == "operationParams" })
	delete(s, "oneOf")
}

// openAPI returns the definitions of SOL003 v3.3.1. Without VNFKIT_CORPUS it returns an empty map.
var openAPI = sync.OnceValues(func() (map[string]routers.Router, error) {
	corpus, out := os.Getenv("VNFKIT_CORPUS"), map[string]routers.Router{}
	if corpus == "" {
		return nil, nil
	}
	for api, file := range map[string]string{"vnflcm": "sol003_lifecycle_openapi.json", "vnfpkgm": "sol003_package_openapi.json"} {
		text, err := os.ReadFile(filepath.Join(corpus, "sol003", "openapi-3.3.1", file)) //nolint:gosec // test data
		if err != nil {
			return nil, err
		}
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			return nil, err
		}
		correctPackages(tree)
		if text, err = json.Marshal(tree); err != nil {
			return nil, err
		}
		definition, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			return nil, err
		}
		if single := definition.Paths.Value("/vnf_snapshots/{vnfSnapshotInfoId}"); single != nil {
			correctSnapshot(single.Get.Responses.Status(http.StatusOK).Value.Content["application/json"])
		}
		definition.Servers = openapi3.Servers{{URL: "/" + api + "/v2"}}
		if out[api], err = gorillamux.NewRouter(definition); err != nil {
			return nil, err
		}
	}
	return out, nil
})

// correctSnapshot corrects the definition of a snapshot: it answers with a list, and requires triggeredAt and vnfInfo, which are none of its
// attributes. SOL003 v3.3.1 5.4.24.3.2 answers with one VnfSnapshotInfo, whose attributes are those of the definition.
func correctSnapshot(answer *openapi3.MediaType) {
	answer.Schema = answer.Schema.Value.Items
	answer.Schema.Value.Properties["vnfSnapshot"].Value.Required = []string{"id", "vnfInstanceId", "creationStartedAt", "vnfdId", "vnfInstance", "vnfcSnapshots"}
}

// correctPackages corrects the definition of packages where it deviates from the specification: checksum is a structure (SOL003 v3.3.1
// 10.5.2.2), vnfmInfo is a list, and a filter needs no attribute (10.5.3.4).
func correctPackages(tree any) {
	switch s := tree.(type) {
	case array:
		for _, each := range s {
			correctPackages(each)
		}
	case object:
		if properties, _ := s["properties"].(object); properties["vnfPkgId"] != nil && properties["operationalState"] != nil {
			delete(s, "anyOf")
		}
		for name, p := range s {
			if schema, ok := p.(object); ok && schema["type"] == "string" {
				switch name {
				case "checksum":
					s[name] = object{"type": "object", "required": array{"algorithm", "hash"}, "properties": object{"algorithm": object{"type": "string"}, "hash": object{"type": "string"}}}
				case "vnfmInfo":
					s[name] = object{"type": "array", "items": object{"type": "string"}}
				}
				continue
			}
			correctPackages(p)
		}
	}
}

// packageSchemas returns the schemas of SOL003 v2.6.1 for packages. Without VNFKIT_CORPUS it returns an empty map.
var packageSchemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	corpus, out := os.Getenv("VNFKIT_CORPUS"), map[string]*jsonschema.Schema{}
	if corpus == "" {
		return nil, nil
	}
	for name, file := range map[string]string{"v1/vnf_packages": "vnfPkgInfo", "v1/subscriptions": "PkgmSubscription", "v1/api_versions": "ApiVersionInformation",
		"VnfPackageOnboardingNotification": "VnfPackageOnboardingNotification", "VnfPackageChangeNotification": "VnfPackageChangeNotification"} {
		schema, err := compileSchema(filepath.Join(corpus, "sol003/tst010-2.6.1-schemas/VNFPackageManagement-API/schemas", file+".schema.json"), false)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out[name] = schema
	}
	return out, nil
})

func newChecker(t *testing.T) *checker {
	t.Helper()
	schemas, err := compiled()
	must(t, err)
	packages, err := packageSchemas()
	must(t, err)
	all := maps.Clone(schemas)
	for name, schema := range packages {
		all["vnfpkgm "+name] = schema
	}
	openapi, err := openAPI()
	must(t, err)
	return &checker{t: t, schemas: all, openapi: openapi}
}

func read(t *testing.T, response *http.Response) answer {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	a := answer{Response: response, body: string(body)}
	if media := response.Header.Get("Content-Type"); len(body) > 0 && strings.HasSuffix(media, "json") {
		if err := json.Unmarshal(body, &a.tree); err != nil {
			t.Fatalf("%s %s: status %d, the body is not JSON: %s", response.Request.Method, response.Request.URL, response.StatusCode, body)
		}
	}
	return a
}

// check compares an answer with the standard.
func (x *checker) check(r *http.Request, a answer) {
	x.t.Helper()
	what := fmt.Sprintf("%s %s: %d", r.Method, r.URL, a.StatusCode)
	fault := func(format string, args ...any) {
		x.t.Helper()
		x.t.Errorf("%s: %s\n%.2000q", what, fmt.Sprintf(format, args...), a.body)
	}
	if strings.Contains(a.body+fmt.Sprint(a.Header), canary) {
		fault("a secret is in the answer")
	}
	api, rest, _ := strings.Cut(r.URL.Path[1:], "/")
	segments := strings.Split(rest, "/")
	version := map[string]string{"vnflcm/v1": "1.3.0", "vnflcm/v2": "2.0.0", "vnfpkgm/v1": "1.2.0", "vnfpkgm/v2": "2.1.0"}[api+"/"+segments[0]]
	if a.Header.Get("Version") != version {
		fault("the Version header is %q, not %q", a.Header.Get("Version"), version)
	}
	switch {
	case a.StatusCode >= 400:
		if a.Header.Get("Content-Type") != "application/problem+json" {
			fault("Content-Type %q", a.Header.Get("Content-Type"))
		}
		x.validate(fault, problemSchema, a.tree)
		if a.object()["status"] != float64(a.StatusCode) && r.Method != http.MethodHead {
			fault("another status in the document")
		}
		if a.StatusCode == 405 && a.Header.Get("Allow") == "" {
			fault("no Allow header")
		}
		if a.StatusCode == 401 && a.Header.Get("WWW-Authenticate") == "" {
			fault("no WWW-Authenticate header")
		}
		if a.StatusCode == 503 && a.Header.Get("Retry-After") == "" {
			fault("no Retry-After header")
		}
	case a.body == "":
		if a.StatusCode == 200 && r.Method != http.MethodHead {
			fault("no document")
		}
	case api == "vnfpkgm" && !strings.HasSuffix(a.Header.Get("Content-Type"), "json"): // a file
	case api == "vnfpkgm":
		if len(segments) > 1 && r.Method != http.MethodPatch {
			x.validateItems(fault, "vnfpkgm "+segments[0]+"/"+segments[1], a.tree)
		}
	default:
		if a.Header.Get("Content-Type") != "application/json" {
			fault("Content-Type %q", a.Header.Get("Content-Type"))
		}
		if len(segments) > 1 && api == "vnflcm" {
			file := documentSchemas[segments[0]+"/"+segments[1]]
			list, isList := a.tree.(array)
			for _, item := range list {
				x.validate(fault, "list "+file, item)
			}
			if !isList && file != "" {
				x.validate(fault, file, a.tree)
			}
		}
	}
	if strings.HasPrefix(version, "2.") && x.openapi[api] != nil {
		x.checkOpenAPI(x.openapi[api], fault, r, a)
	}
}

// validateItems validates a document, or every document of a list.
func (x *checker) validateItems(fault func(string, ...any), schema string, tree any) {
	x.t.Helper()
	list, isList := tree.(array)
	if !isList {
		list = array{tree}
	}
	for _, item := range list {
		x.validate(fault, schema, item)
	}
}

func (x *checker) validate(fault func(string, ...any), file string, document any) {
	x.t.Helper()
	schema := x.schemas[file]
	if schema == nil || document == nil {
		return
	}
	if err := schema.Validate(document); err != nil {
		fault("%v", err)
	}
}

// defined returns a request with a path that the definition has: it lacks the list of /vnf_packages, and its router does not match several
// segments with {artifactPath}.
func defined(r *http.Request) *http.Request {
	out := r.Clone(r.Context())
	if out.URL.Path == pkgs2 {
		out.URL.Path = "/vnfpkgm/v2/onboarded_vnf_packages"
	}
	if of, file, is := strings.Cut(out.URL.Path, "/artifacts/"); is {
		out.URL.Path = of + "/artifacts/" + strings.ReplaceAll(file, "/", "-")
	}
	return out
}

// checkOpenAPI compares an answer of version 2 with the whole definition: paths, methods, statuses, headers and documents.
func (x *checker) checkOpenAPI(definition routers.Router, fault func(string, ...any), r *http.Request, a answer) {
	x.t.Helper()
	route, params, err := definition.FindRoute(defined(r))
	if err != nil {
		if a.StatusCode < 400 && r.Method != http.MethodHead {
			fault("the definition has no such path or method: %v", err)
		}
		return
	}
	if _, isList := a.tree.(array); isList {
		return // the definition does not allow for selectors; correctList does
	}
	header := a.Header.Clone()
	if a.StatusCode >= 400 {
		// The definition has application/json. SOL013 v2.6.1 6.3 requires application/problem+json.
		header.Set("Content-Type", "application/json")
	}
	if r.Method == http.MethodPatch && a.StatusCode == http.StatusAccepted {
		return // the definition has a document for a body that "shall be empty", as its text says
	}
	if route.Operation.Responses.Status(a.StatusCode) == nil {
		if !slices.Contains([]int{304, 406, 412, 413, 414, 415, 422, 501}, a.StatusCode) { // SOL013 v2.6.1 6.4 defines these statuses for every resource
			fault("the definition has no such status")
		}
		return
	}
	err = openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 a.StatusCode, Header: header, Body: io.NopCloser(strings.NewReader(a.body)),
		// Documents of subscriptions are validated with a corrected schema.
		Options: &openapi3filter.Options{MultiError: true, ExcludeResponseBody: strings.Contains(r.URL.Path, "/subscriptions")},
	})
	if err != nil {
		fault("%v", err)
	}
}
