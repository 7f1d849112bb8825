package kubetest_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/vnfkit/vnfkit/examples/packages"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/infra/kubernetes/kubetest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// A Manager instantiates and terminates a CNF on the cluster. A test calls kubetest.Cluster instead of Open.
func Example() {
	ctx := context.Background()
	cluster, stop, err := kubetest.Open()
	check(err)
	defer stop()
	at, err := vnflcm.NewParams(map[string]string{"endpoint": cluster.Host, "ssl_ca_cert": string(cluster.CAData)})
	check(err)
	login, err := vnflcm.NewParams(map[string]string{"bearer_token": cluster.BearerToken})
	check(err)
	manager, err := vnflcm.New(ctx, vnflcm.Config{
		Store: store.NewMemory(), Key: []byte(rand.Text()), Packages: vnflcm.PackagesFunc(packages.CNF.Find),
		Infra:     map[string]vnflcm.InfraDriver{kubernetes.VimTypeV1: kubernetes.New(kubernetes.Config{Allow: outbound.AllowAny})},
		KnownVIMs: vnflcm.VimConnections{{VimID: "here", VimType: kubernetes.VimTypeV1, InterfaceInfo: at, AccessInfo: login}},
	})
	check(err)
	defer func() { check(manager.Close(ctx)) }()

	request, err := packages.CNF.Request("instantiate_manifests.json")
	check(err)
	request.VimConnectionInfo = vnflcm.VimConnections{{VimID: "here"}}
	vnf, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: packages.CNF.VNFDID})
	check(err)
	ended := func(opID string, err error) {
		check(err)
		occ, err := manager.Wait(ctx, opID)
		check(err)
		fmt.Println(occ.Operation, occ.OperationState)
	}
	ended(manager.Instantiate(ctx, vnf.ID, request))
	objects, err := dynamic.NewForConfig(cluster)
	check(err)
	deployments := objects.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})
	list, err := deployments.List(ctx, metav1.ListOptions{})
	check(err)
	for _, d := range list.Items {
		ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas")
		fmt.Println(d.GetNamespace(), d.GetName(), ready)
	}
	ended(manager.Terminate(ctx, vnf.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
	// Output:
	// INSTANTIATE COMPLETED
	// shop shop-web 1
	// TERMINATE COMPLETED
}

// A typed client of client-go creates a pod and waits until it runs.
func ExampleOpen() {
	ctx := context.Background()
	cluster, stop, err := kubetest.Open()
	check(err)
	defer stop()
	client, err := typedv1.NewForConfig(cluster)
	check(err)
	pods := client.Pods("default")
	_, err = pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1"}}},
	}, metav1.CreateOptions{})
	check(err)
	changes, err := pods.Watch(ctx, metav1.ListOptions{})
	check(err)
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if pod, is := change.Object.(*corev1.Pod); is && pod.Status.Phase == corev1.PodRunning {
			fmt.Println(pod.Name, "runs on", pod.Spec.NodeName)
			return
		}
	}
	// Output: web runs on node-1
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}
