// Package kubeapi simulates the API server of a Kubernetes cluster, its controllers, its scheduler and its kubelets, as far as
// drivers, Helm and client-go's dynamic client need them: discovery, lists and watches by selectors, optimistic locking, merge
// and strategic merge patches, server-side apply with owners of fields, scale, finalizers, owners and their garbage
// collection, namespaces, custom kinds, dry runs, nodes, pods and their eviction, disruption budgets, service accounts and
// their tokens, and the metric of deprecated versions.
//
// A Cluster lives on machines, of which its Host tells it; a Standalone needs none.
//
// Controllers of Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs, a scheduler and kubelets work while requests are
// answered or watched, in a fixed order. What becomes of a pod is said by the name of its image.
//
// It refuses methods and selectors that it does not know. Documents are JSON or YAML. Other media types, and kinds of patches that it
// does not know, are answered as by an API server that lacks them (406, 415): a request for a table gets plain JSON if Accept has JSON too.
//
// The libraries of Kubernetes do what they can: client-go's types say which fields built-in kinds have, and how patches merge them;
// package managedfields does server-side apply and keeps the owners of fields.
//
// Admission webhooks that cannot be reached refuse requests; a webhook that can be reached allows all. Quotas count objects. An aggregated
// API has no resources; without an endpoint it is not available, so that no namespace can be deleted.
//
// Of values it checks only what drivers rely on: selectors, containers with an image, immutable fields.
//
// It does not know the schemas of custom kinds (their lists are owned as a whole), conversion, the answers of admission
// webhooks, JSON patches, protobuf, pages of lists, changes of a status by clients, resources that pods ask for,
// priorities, affinity to other pods, probes and exec, EndpointSlices, CronJobs and autoscalers, load balancers of clouds.
// Deployments always roll, also those with the strategy Recreate and paused ones. It sets only the defaults that drivers or its controllers
// read.
//
// TestContract in internal/cnftest holds it and a real kube-apiserver to the same answers. Three answers differ from those of a real
// one, so that a test notices what a driver has forgotten: a ready Node that has pods is not deleted, roles allow either
// everything or reading, and unknown fields are always refused.
package kubeapi
