package nfvotest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/routers"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// packageCorpus are the definitions of packages: the API of SOL003 v3.3.1 and schemas of v2.6.1.
type packageCorpus struct {
	router  routers.Router
	schemas map[string]*jsonschema.Schema
}

// readPackages reads the definitions once; nil without VNFKIT_CORPUS.
var readPackages = sync.OnceValues(func() (*packageCorpus, error) {
	router, err := readAPI("sol003_package_openapi.json", "/vnfpkgm/v2", correctPackages)
	if router == nil || err != nil {
		return nil, err
	}
	out := &packageCorpus{router, map[string]*jsonschema.Schema{}}
	for name, schema := range map[string]string{"vnf_packages": "vnfPkgInfo", "subscriptions": "PkgmSubscription",
		"VnfPackageOnboardingNotification": "VnfPackageOnboardingNotification", "VnfPackageChangeNotification": "VnfPackageChangeNotification"} {
		if out.schemas[name], err = readSchema("VNFPackageManagement-API", schema); err != nil {
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
	return recorded(handler, func(r *http.Request, whole *httptest.ResponseRecorder) {
		isJSON := strings.HasSuffix(whole.Header().Get("Content-Type"), "json")
		if strings.HasPrefix(r.URL.Path, "/vnfpkgm/v2/") {
			n.compareAPI(definitions.router, r, whole, "2.1.0", !isJSON || strings.Contains(r.URL.Path, "/subscriptions"))
			return
		}
		schema := definitions.schemas[strings.Split(r.URL.Path, "/")[3]]
		if whole.Code < http.StatusMultipleChoices && schema != nil && whole.Header().Get("Content-Type") == "application/json" {
			n.validate(schema, r, whole)
		}
	})
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
