package nfvotest

import (
	"bytes"
	"encoding/json"
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

// definitions returns the API of SOL003 v3.3.1 and the schema of a grant of v2.6.1; nil without VNFKIT_CORPUS.
func definitions() (routers.Router, *jsonschema.Schema, error) {
	both, err := read()
	if both == nil {
		return nil, nil, err
	}
	return both.router, both.schema, err
}

type corpus struct {
	router routers.Router
	schema *jsonschema.Schema
}

// read reads the definitions once.
var read = sync.OnceValues(func() (*corpus, error) {
	folder := os.Getenv("VNFKIT_CORPUS")
	if folder == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(folder, "sol003/openapi-3.3.1/sol003_operation_openapi.json")) //nolint:gosec // test data
	if err != nil {
		return nil, err
	}
	definition, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	definition.Servers = openapi3.Servers{{URL: "/grant/v1"}}
	router, err := gorillamux.NewRouter(definition)
	if err != nil {
		return nil, err
	}
	schema, err := compile(filepath.Join(folder, "sol003/tst010-2.6.1-schemas/VNFLifecycleOperationGranting-API/schemas/grant.schema.json"))
	return &corpus{router, schema}, err
})

func compile(file string) (*jsonschema.Schema, error) {
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

// checked returns a handler that compares requests and answers with the definitions.
func (n *NFVO) checked(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if n.definition == nil {
			handler(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		whole := httptest.NewRecorder()
		handler(whole, r)
		r.Body = io.NopCloser(bytes.NewReader(body))
		n.compare(r, whole)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes())
	}
}

// compare compares a request and its answer with the definitions.
func (n *NFVO) compare(r *http.Request, whole *httptest.ResponseRecorder) {
	what := r.Method + " " + r.URL.Path + ": "
	route, params, err := n.definition.FindRoute(r)
	if err != nil {
		n.tb.Error(what, err)
		return
	}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{MultiError: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
		n.tb.Error(what, err)
	}
	header := whole.Header().Clone()
	if whole.Code >= 400 {
		header.Set("Content-Type", "application/json") // the definition has no application/problem+json, which SOL013 v2.6.1 6.3 requires
	}
	header.Set("Version", "1.4.0")
	header.Set("WWW-Authenticate", "Bearer")
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: whole.Code, Header: header,
		Body: io.NopCloser(strings.NewReader(whole.Body.String())), Options: &openapi3filter.Options{MultiError: true}}
	if err := openapi3filter.ValidateResponse(r.Context(), response); err != nil {
		n.tb.Errorf("%s%d: %v", what, whole.Code, err)
	}
	var document any
	if whole.Code < 300 && whole.Body.Len() > 0 {
		if err := json.Unmarshal(whole.Body.Bytes(), &document); err != nil {
			n.tb.Error(what, err)
		}
		if err := n.schema.Validate(document); err != nil {
			n.tb.Errorf("%s%d: %v", what, whole.Code, err)
		}
	}
}
