// Package kubetest gives tests a Kubernetes cluster in the process: no program, no container, no root. Use it to test a program that has
// infra/kubernetes, helmclient or client-go:
//
//	client, err := helmsdk.New(helmsdk.Config{Cluster: kubetest.Cluster(t), Dir: t.TempDir()})
//
// The API is served on a loopback address over TLS, so drivers need outbound.AllowAny or an exception for 127.0.0.0/8. It answers
// client-go's dynamic, typed, discovery and REST mapper clients and Helm 3 and 4: lists and watches by selectors, optimistic locking, merge and
// strategic merge patches, server-side apply with owners of fields, scale, finalizers and garbage collection, custom kinds, dry runs,
// service accounts, disruption budgets and quotas. Controllers of Deployments, StatefulSets, DaemonSets and Jobs, a scheduler and three
// kubelets (node-1 to node-3) run the workloads; a pod is ready after 20 ms. No container runs: the name of the image decides what becomes of
// a pod.
//
//	image begins with          the pod
//	missing.example.net/       waits: the image cannot be pulled
//	crash                      ends again and again
//	fail                       of a Job ends with an error
//	endless                    of a Job does not end
//	anything else              becomes ready; of a Job it ends with success
//
// The cluster is stricter than a real one where that finds faults of a client: unknown fields are refused always. It lacks, and refuses
// with the answer of an API server that lacks it: JSON patches, answers in protobuf, tables. It does not know conversion, pages of
// lists, probes, exec, EndpointSlices, CronJobs and autoscalers.
package kubetest
