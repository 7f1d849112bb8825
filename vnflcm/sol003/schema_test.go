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

// checker holds every answer against the schemas of ETSI.
type checker struct {
	t       *testing.T
	schemas map[string]*jsonschema.Schema
	openapi routers.Router // nil without VNFKIT_CORPUS
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

// notificationSchemas are those of version 1. The OpenAPI definition of version 2 has none.
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
	text, err := os.ReadFile(filepath.Join("..", "testdata", "sol003", file)) //nolint:gosec // test data
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

// correct changes where the OpenAPI definition of SOL003 v3.3.1 deviates from the specification, which takes precedence: see
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
		// The definition requires one of several alternatives and misspells one. SOL003 v3.3.1 4.4.1.5 requires none.
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

// correctList changes where the schemas deviate from the specification for the items of a list: operationParams "may be
// present according to the chosen attribute selector" there (SOL003 v2.6.1 5.5.2.13), and so may changedInfo.
func correctList(schema any) {
	s := schema.(object)
	required, _ := s["required"].(array)
	s["required"] = slices.DeleteFunc(required, func(name any) bool { return name == "operationParams" })
	delete(s, "oneOf")
}

// openAPI is the definition of SOL003 v3.3.1, nil without VNFKIT_CORPUS.
var openAPI = sync.OnceValues(func() (routers.Router, error) {
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		return nil, nil
	}
	definition, err := openapi3.NewLoader().LoadFromFile(filepath.Join(corpus, "sol003", "openapi-3.3.1", "sol003_lifecycle_openapi.json"))
	if err != nil {
		return nil, err
	}
	definition.Servers = openapi3.Servers{{URL: "/vnflcm/v2"}}
	return gorillamux.NewRouter(definition)
})

func newChecker(t *testing.T) *checker {
	t.Helper()
	schemas, err := compiled()
	must(t, err)
	openapi, err := openAPI()
	must(t, err)
	return &checker{t: t, schemas: schemas, openapi: openapi}
}

func read(t *testing.T, response *http.Response) answer {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	a := answer{Response: response, body: string(body)}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &a.tree); err != nil {
			t.Fatalf("%s %s: status %d, the body is not JSON: %s", response.Request.Method, response.Request.URL, response.StatusCode, body)
		}
	}
	return a
}

// check holds an answer against the standard.
func (x *checker) check(r *http.Request, a answer) {
	x.t.Helper()
	what := fmt.Sprintf("%s %s: %d", r.Method, r.URL, a.StatusCode)
	fault := func(format string, args ...any) {
		x.t.Helper()
		x.t.Errorf("%s: %s\n%s", what, fmt.Sprintf(format, args...), a.body)
	}
	if strings.Contains(a.body+fmt.Sprint(a.Header), canary) {
		fault("a secret is in the answer")
	}
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/vnflcm/"), "/")
	version := map[string]string{"v1": "1.3.0", "v2": "2.0.0"}[segments[0]]
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
	default:
		if a.Header.Get("Content-Type") != "application/json" {
			fault("Content-Type %q", a.Header.Get("Content-Type"))
		}
		if len(segments) > 1 {
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
	if version == "2.0.0" && x.openapi != nil {
		x.checkOpenAPI(fault, r, a)
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

// checkOpenAPI holds an answer of version 2 against the whole definition: paths, methods, statuses, headers, documents.
func (x *checker) checkOpenAPI(fault func(string, ...any), r *http.Request, a answer) {
	x.t.Helper()
	route, params, err := x.openapi.FindRoute(r)
	if err != nil {
		if a.StatusCode < 400 && r.Method != http.MethodHead {
			fault("the definition has no such path or method: %v", err)
		}
		return
	}
	if _, isList := a.tree.(array); isList {
		return // the definition does not know selectors: correctList
	}
	header := a.Header.Clone()
	if a.StatusCode >= 400 {
		// The definition has application/json. SOL013 v2.6.1 6.3 wants application/problem+json.
		header.Set("Content-Type", "application/json")
	}
	if r.Method == http.MethodPatch && a.StatusCode == http.StatusAccepted {
		return // the definition has a document for a body that "shall be empty", as its text says
	}
	if route.Operation.Responses.Status(a.StatusCode) == nil {
		if !slices.Contains([]int{304, 412, 413, 414, 415, 422}, a.StatusCode) { // SOL013 v2.6.1 6.4 has them for every resource
			fault("the definition has no such status")
		}
		return
	}
	err = openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 a.StatusCode, Header: header, Body: io.NopCloser(strings.NewReader(a.body)),
		// Subscriptions are held against a schema that is corrected.
		Options: &openapi3filter.Options{MultiError: true, ExcludeResponseBody: strings.Contains(r.URL.Path, "/subscriptions")},
	})
	if err != nil {
		fault("%v", err)
	}
}
