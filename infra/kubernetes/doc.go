// Package kubernetes makes CNFs, VNFs of containers, on a Kubernetes cluster: from Helm charts or from plain manifests. It
// implements vnflcm.InfraDriver.
//
// Give it to a Manager under the vimTypes that requests use. Charts need somebody who runs Helm: the helm program on
// machines of the cluster, reached over SSH, or this process:
//
//	driver := kubernetes.New(kubernetes.Config{
//		SSH: pool, // *sshexec.Pool
//		Dir: "/var/lib/myvnfm/helm",
//		Helm: func(cluster *rest.Config, dir string) (helmclient.Client, error) {
//			return helmsdk.New(helmsdk.Config{Cluster: cluster, Dir: dir})
//		},
//	})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		Infra: map[string]vnflcm.InfraDriver{
//			kubernetes.VimTypeV1: driver, kubernetes.VimTypeV2: driver, kubernetes.VimTypeHelm: driver},
//		…
//	})
//
// A VIM that names machines with Helm (extra.helm_info) has it run there, others in this process; Config.HelmBy forces
// either.
//
// # What a request says
//
// Names of attributes are Tacker's. With use_helm, using_helm_install_param has an entry for each release: a chart of the
// package (helmchartfile_path), of a repository (exthelmrepo_url, helmrepositoryname, helmchartname) or of a registry
// (exthelmrepo_url that begins with oci://). With vimType ETSINFV.HELM.V_3 there is one chart, helm_chart_path. Without
// charts lcm-kubernetes-def-files lists manifests of the package.
//
// # VNFCs
//
// The VNFCs are the pods. Which VDU a pod is of is said by vdu_mapping (the workload's kind and name), else by its label
// vnfkit.io/vdu or app.kubernetes.io/component (id or name of the VDU), else by its workload's name: that of the VDU, or
// that with "-" and the release. With one VDU all pods are of it. Pods that are of no VDU are warned of. When a pod is
// replaced, the new one takes over the id of the VNFC.
//
// Services of type NodePort and LoadBalancer are shown to management drivers as Operation.NodePorts.
//
// # When it fails
//
// Releases and objects carry the id of the VNF instance as label vnfkit.io/vnf-instance. What has the name but not the
// label is somebody else's and is not touched (ErrForeignRelease, ErrForeign). When one of several releases fails, those
// that the operation has made are removed again. What does not become ready is named with what its pods wait for and the
// last warnings about it.
//
// A process that dies is followed by another that looks what is there: releases that are pending are taken up, since only
// one process at a time has an operation.
package kubernetes
