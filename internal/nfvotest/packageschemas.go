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

// packageCorpus are the definitions of packages: the API of SOL003 v3.3.1 and schemas of v2.6.1.
type packageCorpus struct {
	router  routers.Router
	schemas map[string]*jsonschema.Schema
}

// readPackages reads the definitions once; nil without VNFKIT_CORPUS.
var readPackages = sync.OnceValues(func() (*packageCorpus, error) {
	folder := os.Getenv("VNFKIT_CORPUS")
	if folder == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(folder, "sol003/openapi-3.3.1/sol003_package_openapi.json")) //nolint:gosec // test data
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
	definition.Servers = openapi3.Servers{{URL: "/vnfpkgm/v2"}}
	out := &packageCorpus{schemas: map[string]*jsonschema.Schema{}}
	if out.router, err = gorillamux.NewRouter(definition); err != nil {
		return nil, err
	}
	for name, file := range map[string]string{"vnf_packages": "vnfPkgInfo", "subscriptions": "PkgmSubscription",
		"VnfPackageOnboardingNotification": "VnfPackageOnboardingNotification", "VnfPackageChangeNotification": "VnfPackageChangeNotification"} {
		out.schemas[name], err = compile(filepath.Join(folder, "sol003/tst010-2.6.1-schemas/VNFPackageManagement-API/schemas", file+".schema.json"))
		if err != nil {
			return nil, err
		}
	}
	return out, nil
})

// correctPackages corrects the definition where it deviates from the specification: checksum is a structure (SOL003 v3.3.1 10.5.2.2),
// vnfmInfo is a list, and a filter needs no attribute (10.5.3.4).
func correctPackages(tree any) {
	switch s := tree.(type) {
	case []any:
		for _, each := range s {
			correctPackages(each)
		}
	case map[string]any:
		if properties, _ := s["properties"].(map[string]any); properties["vnfPkgId"] != nil && properties["operationalState"] != nil {
			delete(s, "anyOf")
		}
		for name, p := range s {
			schema, isObject := p.(map[string]any)
			switch {
			case isObject && schema["type"] == "string" && name == "checksum":
				s[name] = map[string]any{} // an NFVO of the time of the definition sends a text
			case isObject && schema["type"] == "string" && name == "vnfmInfo":
				s[name] = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
			default:
				correctPackages(p)
			}
		}
	}
}

// checkedPackages returns a handler that compares requests and JSON answers with the definitions.
func (n *NFVO) checkedPackages(handler http.HandlerFunc) http.HandlerFunc {
	definitions, err := readPackages()
	if err != nil {
		n.tb.Fatal(err)
	}
	if definitions == nil {
		return handler
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		whole := httptest.NewRecorder()
		handler(whole, r)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.HasPrefix(r.URL.Path, "/vnfpkgm/v2/") {
			n.comparePackages(definitions.router, r, whole)
		} else {
			n.compareVersion1(definitions, r, whole)
		}
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes())
	}
}

func (n *NFVO) comparePackages(definition routers.Router, r *http.Request, whole *httptest.ResponseRecorder) {
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
	header.Set("Version", "2.1.0")
	header.Set("WWW-Authenticate", "Bearer")
	isJSON := strings.HasSuffix(whole.Header().Get("Content-Type"), "json")
	response := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: whole.Code, Header: header,
		Body: io.NopCloser(strings.NewReader(whole.Body.String())), Options: &openapi3filter.Options{MultiError: true, ExcludeResponseBody: !isJSON || strings.Contains(r.URL.Path, "/subscriptions")}}
	if err := openapi3filter.ValidateResponse(r.Context(), response); err != nil {
		n.tb.Errorf("%s%d: %v", what, whole.Code, err)
	}
}

func (n *NFVO) compareVersion1(definitions *packageCorpus, r *http.Request, whole *httptest.ResponseRecorder) {
	schema := definitions.schemas[strings.Split(r.URL.Path, "/")[3]]
	if whole.Code >= http.StatusMultipleChoices || schema == nil || whole.Header().Get("Content-Type") != "application/json" {
		return
	}
	var tree any
	if err := json.Unmarshal(whole.Body.Bytes(), &tree); err != nil {
		n.tb.Error(err)
	}
	list, isList := tree.([]any)
	if !isList {
		list = []any{tree}
	}
	for _, each := range list {
		if err := schema.Validate(each); err != nil {
			n.tb.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
	}
}

// checkNotification compares a notification with its schema.
func (n *NFVO) checkNotification(body []byte) {
	definitions, err := readPackages()
	if err != nil || definitions == nil {
		return
	}
	var document map[string]any
	if err := json.Unmarshal(body, &document); err != nil {
		n.tb.Error(err)
	}
	kind, _ := document["notificationType"].(string)
	if err := definitions.schemas[kind].Validate(document); err != nil {
		n.tb.Errorf("%s: %v", kind, err)
	}
}
