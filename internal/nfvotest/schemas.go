package nfvotest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// corpus are the definitions of grants: the API of SOL003 v3.3.1 and the schema of a grant of v2.6.1.
type corpus struct {
	router routers.Router
	schema *jsonschema.Schema
}

// read reads the definitions once; nil without VNFKIT_CORPUS.
var read = sync.OnceValues(func() (*corpus, error) {
	router, err := readAPI("sol003_operation_openapi.json", "/grant/v1", func(any) {})
	if router == nil || err != nil {
		return nil, err
	}
	schema, err := readSchema("VNFLifecycleOperationGranting-API", "grant")
	return &corpus{router, schema}, err
})

// folder is the folder with the definitions of ETSI, "" if they are not there.
func folder(elem ...string) string {
	root := os.Getenv("VNFKIT_CORPUS")
	if root == "" {
		return ""
	}
	return filepath.Join(append([]string{root, "sol003"}, elem...)...)
}

// readAPI reads an OpenAPI definition of SOL003 v3.3.1 after correct has corrected it; nil without VNFKIT_CORPUS.
func readAPI(file, server string, correct func(tree any)) (routers.Router, error) {
	path := folder("openapi-3.3.1", file)
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path) //nolint:gosec // test data
	if err != nil {
		return nil, err
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	correct(tree)
	if text, err = json.Marshal(tree); err != nil {
		return nil, err
	}
	definition, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	definition.Servers = openapi3.Servers{{URL: server}}
	return gorillamux.NewRouter(definition)
}

// readSchema reads a schema of SOL003 v2.6.1.
func readSchema(api, name string) (*jsonschema.Schema, error) {
	file := folder("tst010-2.6.1-schemas", api, "schemas", name+".schema.json")
	text, err := os.ReadFile(file) //nolint:gosec // test data
	if err != nil {
		return nil, err
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	if err := c.AddResource(file, tree); err != nil {
		return nil, err
	}
	return c.Compile(file)
}

// checked returns a handler that compares requests and answers with the definitions of grants.
func (n *NFVO) checked(handler http.HandlerFunc) http.HandlerFunc {
	if n.definitions == nil {
		return handler
	}
	return recorded(handler, n.compare)
}

// recorded returns a handler that calls compare with each request and its whole answer before the answer is sent.
func recorded(handler http.HandlerFunc, compare func(*http.Request, *httptest.ResponseRecorder)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		whole := httptest.NewRecorder()
		handler(whole, r)
		r.Body = io.NopCloser(bytes.NewReader(body))
		compare(r, whole)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes())
	}
}

// compare compares a request for a grant and its answer with the definitions.
func (n *NFVO) compare(r *http.Request, whole *httptest.ResponseRecorder) {
	n.compareAPI(n.definitions.router, r, whole, "1.4.0", false)
	if whole.Code >= http.StatusMultipleChoices || whole.Body.Len() == 0 {
		return
	}
	n.validate(n.definitions.schema, r, whole)
}

// validate compares the document of an answer with a schema.
func (n *NFVO) validate(schema *jsonschema.Schema, r *http.Request, whole *httptest.ResponseRecorder) {
	var tree any
	err := json.Unmarshal(whole.Body.Bytes(), &tree)
	list, isList := tree.([]any)
	if !isList {
		list = []any{tree}
	}
	for _, each := range list {
		err = errors.Join(err, schema.Validate(each))
	}
	if err != nil {
		n.tb.Errorf("%s %s: %d: %v", r.Method, r.URL.Path, whole.Code, err)
	}
}

// compareAPI compares a request and its answer with an OpenAPI definition of that version.
func (n *NFVO) compareAPI(definition routers.Router, r *http.Request, whole *httptest.ResponseRecorder, version string, excludeBody bool) {
	what := r.Method + " " + r.URL.Path + ": "
	defined := r.Clone(r.Context())
	if of, file, is := strings.Cut(defined.URL.Path, "/artifacts/"); is { // the router does not match several segments
		defined.URL.Path = of + "/artifacts/" + strings.ReplaceAll(file, "/", "-")
	}
	route, params, err := definition.FindRoute(defined)
	if err != nil {
		n.tb.Error(what, err)
		return
	}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
		n.tb.Error(what, err)
	}
	if whole.Code == http.StatusNotModified { // of SOL013 v2.6.1, for every resource
		return
	}
	header := whole.Header().Clone()
	if whole.Code >= http.StatusBadRequest {
		header.Set("Content-Type", "application/json") // the definition has no application/problem+json, which SOL013 v2.6.1 6.3 requires
	}
	header.Set("Version", version)
	header.Set("WWW-Authenticate", "Bearer")
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: whole.Code, Header: header,
		Body: io.NopCloser(strings.NewReader(whole.Body.String())), Options: &openapi3filter.Options{MultiError: true, ExcludeResponseBody: excludeBody}}
	if err := openapi3filter.ValidateResponse(r.Context(), response); err != nil {
		n.tb.Errorf("%s%d: %v", what, whole.Code, err)
	}
}
