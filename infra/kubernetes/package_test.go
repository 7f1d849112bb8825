package kubernetes_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const vnfdID = "9d2c9a3e-4a55-4a67-8a3e-5f1c7d0f2b11"

const vnfdTop = `tosca_definitions_version: tosca_simple_yaml_1_2
imports: [simple.yaml, single.yaml]
node_types:
  shop.VNF: {derived_from: tosca.nodes.nfv.VNF}
topology_template:
  node_templates:
    VNF:
      type: shop.VNF
      properties: {descriptor_id: ` + vnfdID + `, descriptor_version: '1.0', provider: Shops, product_name: Shop, software_version: '1.0', vnfm_info: ['0:vnfkit']}
`

// Flavour "simple" has a VDU of a Deployment and one of a StatefulSet, "single" only the first.
const vnfdSimple = `tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  substitution_mappings: {node_type: shop.VNF, properties: {flavour_id: simple}}
  node_templates:
    VNF: {type: shop.VNF, properties: {flavour_id: simple, flavour_description: web and db}, interfaces: {Vnflcm: {instantiate: []}}}
    WEB:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: web, description: web, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}
    DB:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: db, description: db, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 4}}
    WEB_CP:
      type: tosca.nodes.nfv.VduCp
      properties: {layer_protocols: [ipv4]}
      requirements: [virtual_binding: WEB]
  policies:
    - aspects:
        type: tosca.policies.nfv.ScalingAspects
        properties:
          aspects:
            webs: {name: webs, description: webs, max_scale_level: 3, step_deltas: [one]}
            dbs: {name: dbs, description: dbs, max_scale_level: 3, step_deltas: [one]}
    - web_initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [WEB], properties: {initial_delta: {number_of_instances: 1}}}
    - db_initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [DB], properties: {initial_delta: {number_of_instances: 1}}}
    - web_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [WEB], properties: {aspect: webs, deltas: {one: {number_of_instances: 1}}}}
    - db_deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [DB], properties: {aspect: dbs, deltas: {one: {number_of_instances: 1}}}}
`

const vnfdSingle = `tosca_definitions_version: tosca_simple_yaml_1_2
topology_template:
  substitution_mappings: {node_type: shop.VNF, properties: {flavour_id: single}}
  node_templates:
    VNF: {type: shop.VNF, properties: {flavour_id: single, flavour_description: one}, interfaces: {Vnflcm: {instantiate: []}}}
    WEB:
      type: tosca.nodes.nfv.Vdu.Compute
      properties: {name: anything, description: web, vdu_profile: {min_number_of_instances: 1, max_number_of_instances: 3}}
`

const webDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: "web-{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.web.replicas }}
  selector: {matchLabels: {app: "web-{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "web-{{ .Release.Name }}"}}
    spec:
      nodeSelector: {{ .Values.nodeSelector | toJson }}
      containers: [{name: web, image: {{ .Values.image | quote }}}]
`

const dbSet = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: "db-{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.db.replicas }}
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: db}]
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

const greeting = `apiVersion: v1
kind: ConfigMap
metadata: {name: "greeting-{{ .Release.Name }}"}
data: {text: {{ .Values.greeting | quote }}}
`

const plainManifests = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: List
items:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 1
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: web}]}
  - apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      replicas: 1
      serviceName: db
      selector: {matchLabels: {app: db}}
      template:
        metadata: {labels: {app: db}}
        spec: {containers: [{name: db, image: db}]}
`

// members are the files of a packaged chart.
type members map[string]string

func (m members) pack(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for name, text := range m {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if target, link := strings.CutPrefix(text, "-> "); link {
			h.Typeflag, h.Linkname, h.Size, text = tar.TypeSymlink, target, 0, ""
		}
		if err := archive.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func chart(name string, templates ...string) members {
	m := members{name + "/Chart.yaml": "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n",
		name + "/values.yaml": "web: {replicas: 1}\ndb: {replicas: 1}\nnodeSelector: {}\nimage: web\ngreeting: hello\n"}
	for i, text := range templates {
		m[name+"/templates/"+string(rune('a'+i))+".yaml"] = text
	}
	return m
}

// shop is the package of the tests.
func shop(t testing.TB) fstest.MapFS {
	t.Helper()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{
		"TOSCA-Metadata/TOSCA.meta": file("TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: shop\nEntry-Definitions: Definitions/top.yaml\n"),
		"Definitions/top.yaml":      file(vnfdTop),
		"Definitions/simple.yaml":   file(vnfdSimple),
		"Definitions/single.yaml":   file(vnfdSingle),
		"Files/values.yaml":         file("greeting: from a file\n"),
		"Files/plain.yaml":          file(plainManifests),
		"Files/broken.yaml":         file("a: [\n"),
		"Files/web-0.1.0.tgz":       {Data: chart("web", webDeployment, greeting).pack(t)},
		"Files/db.v1.tar.gz":        {Data: chart("db", dbSet).pack(t)},
		"Files/both.tgz":            {Data: chart("both", webDeployment, dbSet).pack(t)},
		"Files/slip.tgz":            {Data: members{"web/Chart.yaml": "name: web\nversion: 1\n", "web/../../evil": "x"}.pack(t)},
		"Files/link.tgz":            {Data: members{"web/Chart.yaml": "-> /etc/passwd", "web/values.yaml": "{}"}.pack(t)},
		"Files/bare.tgz":            {Data: members{"Chart.yaml": "name: web\nversion: 1\n", "x": "x"}.pack(t)},
		"Files/none.tgz":            {Data: members{"web/values.yaml": "{}"}.pack(t)},
		"Files/noversion.tgz":       {Data: members{"web/Chart.yaml": "name: web\n"}.pack(t)},
	}
	for name, text := range chart("dir", webDeployment) {
		files["Files/"+name] = file(text)
	}
	return files
}

// packages returns the package for every VNFD but newVNFD, whose package is newer.
func packages(files, newer fstest.MapFS) vnflcm.Packages {
	return vnflcm.PackagesFunc(func(_ context.Context, _, vnfd string) (tosca.Source, error) {
		if vnfd == newVNFD {
			return tosca.FS(newer), nil
		}
		return tosca.FS(files), nil
	})
}
