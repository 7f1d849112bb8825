package readiness_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

func object(text string) unstructured.Unstructured {
	var o unstructured.Unstructured
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(data) // numbers become int64, as clients read them
	}
	if err != nil {
		panic(err)
	}
	return o
}

func Example() {
	deployment := object(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: d1, generation: 1}
spec: {replicas: 1, selector: {matchLabels: {app: web}}}
status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, conditions: [{type: Progressing, status: "True", reason: ReplicaSetUpdated}]}`)
	pod := object(`
apiVersion: v1
kind: Pod
metadata: {name: web-7d9-x2x, namespace: shop, uid: p1, labels: {app: web}}
status:
  phase: Pending
  containerStatuses:
  - {name: web, state: {waiting: {reason: ImagePullBackOff, message: no such image}}}`)
	event := object(`
apiVersion: v1
kind: Event
type: Warning
reason: Failed
message: registry.example.org/web:2 not found
involvedObject: {uid: p1}`)

	progress := readiness.Of([]unstructured.Unstructured{deployment}, readiness.Related{
		Pods: []unstructured.Unstructured{pod}, Events: []unstructured.Unstructured{event}})
	fmt.Printf("%d of %d\n", progress.Ready, progress.Total)
	for _, o := range progress.Waiting {
		fmt.Println(o)
	}
	// Output:
	// 0 of 1
	// Deployment web, Available: 0/1, pod web-7d9-x2x: web: ImagePullBackOff: no such image, Failed: registry.example.org/web:2 not found
}
