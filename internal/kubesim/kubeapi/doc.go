// Package kubeapi simulates the API server of a Kubernetes cluster, its controllers, its scheduler and its kubelets, as far as
// drivers, Helm and client-go's dynamic client need them: discovery, lists and watches by selectors, optimistic locking, merge
// and strategic merge patches, server-side apply with owners of fields, status and scale, finalizers, owners and their garbage
// collection, namespaces, custom kinds, dry runs, nodes, pods and their eviction, disruption budgets, service accounts and
// their tokens.
//
// A Cluster lives on machines, of which its Host tells it; a Standalone needs none.
//
// Controllers of Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs, a scheduler and kubelets work while requests are
// answered or watched, in a fixed order. What becomes of a pod is said by the name of its image.
//
// It refuses methods, kinds of patches and selectors that it does not know. It answers a request for a table with plain JSON.
//
// It does not know unknown fields and the schemas of custom kinds (their lists are owned as a whole), conversion, admission
// webhooks, JSON patches, protobuf, pages of lists, resources that pods ask for, quotas, priorities, affinity to other pods,
// probes, logs and exec, EndpointSlices, CronJobs and autoscalers, load balancers of clouds.
//
// Two answers differ from those of a real API server, so that a test notices what a driver has forgotten: a ready Node that has
// pods is not deleted, and roles allow either everything or reading.
package kubeapi
