package sol003_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// TestStandardNames sends every attribute of the requests in ETSI's definitions: none may be taken for a misspelt one.
func TestStandardNames(t *testing.T) {
	t.Parallel()
	corpus := os.Getenv("VNFKIT_CORPUS")
	if corpus == "" {
		t.Skip("VNFKIT_CORPUS names no folder with ETSI's definitions")
	}
	for file, requests := range map[string]map[string]any{
		"openapi-3.3.1/sol003_lifecycle_openapi.json": {
			"post /vnf_instances":                                    &vnflcm.CreateVnfRequest{},
			"patch /vnf_instances/{vnfInstanceId}":                   &vnflcm.VnfInfoModificationRequest{},
			"post /vnf_instances/{vnfInstanceId}/instantiate":        &vnflcm.InstantiateVnfRequest{},
			"post /vnf_instances/{vnfInstanceId}/scale":              &vnflcm.ScaleVnfRequest{},
			"post /vnf_instances/{vnfInstanceId}/scale_to_level":     &vnflcm.ScaleVnfToLevelRequest{},
			"post /vnf_instances/{vnfInstanceId}/heal":               &vnflcm.HealVnfRequest{},
			"post /vnf_instances/{vnfInstanceId}/terminate":          &vnflcm.TerminateVnfRequest{},
			"post /vnf_instances/{vnfInstanceId}/change_ext_conn":    &vnflcm.ChangeExtVnfConnectivityRequest{},
			"post /vnf_instances/{vnfInstanceId}/create_snapshot":    &vnflcm.CreateVnfSnapshotRequest{},
			"post /vnf_instances/{vnfInstanceId}/revert_to_snapshot": &vnflcm.RevertToVnfSnapshotRequest{},
			"post /subscriptions":                                    &sol003.SubscriptionRequest{},
		},
		"openapi-2.4.1-2.5.1/SOL003-VNFLifecycleManagement-API.json": {
			"post /vnf_instances":                             &vnflcm.CreateVnfRequest{},
			"post /vnf_instances/{vnfInstanceId}/instantiate": &vnflcm.InstantiateVnfRequest{},
			"post /vnf_instances/{vnfInstanceId}/terminate":   &vnflcm.TerminateVnfRequest{},
			"post /subscriptions":                             &sol003.SubscriptionRequest{},
		},
		"openapi-3.3.1/sol003_package_openapi.json":                {"post /subscriptions": &packageSubscription{}},
		"openapi-2.4.1-2.5.1/SOL003-VNFPackageManagement-API.json": {"post /subscriptions": &packageSubscription{}},
	} {
		definitions := readDefinitions(t, filepath.Join(corpus, "sol003", file))
		for name, into := range requests {
			method, path, _ := strings.Cut(name, " ")
			body, err := json.Marshal(definitions.example(definitions.bodyOf(path, method)))
			must(t, err)
			warnings, err := vnflcm.DecodeRequest(body, into)
			for _, text := range append(warnings, strings.Split(errorText(err), "\n")...) {
				if strings.Contains(text, "is no attribute") {
					t.Errorf("%s %s: %s", file, name, text)
				}
			}
			if string(body) == "{}" {
				t.Errorf("%s %s: the schema has no attributes", file, name)
			}
		}
	}
}

// packageSubscription has the attributes of a subscription to notifications of packages.
type packageSubscription struct {
	Filter         *sol003.PackageFilter              `json:"filter"`
	CallbackURI    string                             `json:"callbackUri"`
	Authentication *sol003.SubscriptionAuthentication `json:"authentication"`
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// definitions are a document of OpenAPI or Swagger.
type definitions struct{ document object }

func readDefinitions(t *testing.T, file string) definitions {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // test data
	must(t, err)
	var d definitions
	must(t, json.Unmarshal(text, &d.document))
	return d
}

// resolve follows references.
func (d definitions) resolve(node any) object {
	schema, _ := node.(object)
	for schema["$ref"] != nil {
		var at any = d.document
		for name := range strings.SplitSeq(strings.TrimPrefix(schema["$ref"].(string), "#/"), "/") {
			at = at.(object)[name]
		}
		schema, _ = at.(object)
	}
	return schema
}

// bodyOf returns the schema of the body of a request.
func (d definitions) bodyOf(path, method string) any {
	operation := d.resolve(d.resolve(d.resolve(d.document["paths"])[path])[method])
	for _, media := range d.resolve(d.resolve(operation["requestBody"])["content"]) {
		return d.resolve(media)["schema"]
	}
	parameters, _ := operation["parameters"].(array)
	for _, p := range parameters {
		if parameter := d.resolve(p); parameter["in"] == "body" {
			return parameter["schema"]
		}
	}
	return nil
}

// example returns a value with every attribute of a schema.
func (d definitions) example(node any) any {
	schema := d.resolve(node)
	if schema["type"] == "array" {
		return array{d.example(schema["items"])}
	}
	out := object{}
	for _, list := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := schema[list].(array)
		for _, part := range parts {
			each, _ := d.example(part).(object)
			for name, value := range each {
				out[name] = value
			}
		}
	}
	for name, property := range d.resolve(schema["properties"]) {
		out[name] = d.example(property)
	}
	if inner := d.resolve(schema["additionalProperties"]); inner["properties"] != nil || inner["anyOf"] != nil {
		out["key"] = d.example(inner)
	}
	switch schema["type"] {
	case "string":
		return "text"
	case "integer", "number":
		return 1
	case "boolean":
		return true
	}
	return out
}
