// Package kubernetes runs CNFs, VNFs of containers, on a Kubernetes cluster, from Helm charts or plain manifests. It
// implements vnflcm.InfraDriver.
//
// Register it with a Manager under the vimTypes of requests. Charts need Helm: either the helm program on machines of the
// cluster, reached over SSH, or Helm's packages in this process:
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
// If a VIM names machines with Helm (extra.helm_info), Helm runs there, otherwise in this process. Config.HelmBy overrides
// that.
//
// # What a request says
//
// The charts are the MCIOPs of the VNFD (tosca.Flavour.MCIOPs), in their order: mciop_values has values for them. A request can name
// other charts, or manifests, with Tacker's attributes. With use_helm, using_helm_install_param has an entry for each release: a chart of the
// package (helmchartfile_path), of a repository (exthelmrepo_url, helmrepositoryname, helmchartname) or of a registry
// (exthelmrepo_url that begins with oci://). With vimType ETSINFV.HELM.V_3 there is one chart, helm_chart_path. Without
// charts lcm-kubernetes-def-files lists manifests of the package.
//
// # VNFCs
//
// The VNFCs are the pods. Before anything is made, the workload of each VDU is found in the rendered charts or the manifests: by
// vdu_mapping (the workload's kind and name), else by mcio_identification_data of the VNFD, else by the id or name of the VDU in
// the workload's name (alone, before or behind the release) or in labels (vnfkit.io/vdu, app.kubernetes.io/component,
// app.kubernetes.io/name). A VDU that the request or the VNFD name without success is a fault; a workload or VDU that is
// ambiguous is a warning. If only one VDU is possible, all pods belong to it. The driver warns of pods without a VDU.
// When a pod is replaced, the new pod gets the id of the VNFC.
//
// Management drivers get Services of type NodePort and LoadBalancer as Operation.NodePorts.
//
// # What stays
//
// An upgrade of a release changes only what the operation is for: values keep their types, fields that depend on chance or on
// the time keep what the release has, and fields that other clients have changed stay. The archive of a chart of a repository
// is kept with the instance, so that later operations do not need the repository.
//
// A change of the package (Driver.ChangePackage) upgrades releases to the charts of the new package, with the values that they have over the
// values of the new charts, and applies the new manifests. Data that would end is refused unless the request names it.
//
// A heal of the whole VNF replaces only workloads, after dry runs have shown that the cluster accepts their replacements
// (ErrRefused). Claims, Secrets and everything else stay. Terminating deletes claims only with additionalParams.delete_pvc, and
// names what is left in a warning of the operation.
//
// A stop sets the numbers of pods to 0 and records them; a start restores them (Driver.Operate).
//
// # VNFs of another program
//
// Manager.Adopt takes over releases and manifests that another program has installed in one namespace (Driver.Adopt). It changes
// nothing on the cluster; the first scaling changes only the number of pods.
//
// # When it fails
//
// Releases and objects have the id of the VNF instance as label vnfkit.io/vnf-instance. The driver does not change a release or
// an object that has the right name without that label: it belongs to another client (ErrForeignRelease, ErrForeign). If one of
// several releases cannot be installed, or one of several manifests cannot be applied, an instantiation removes what it has
// installed. What is not ready stays. The error names the objects that are not ready, with the reasons of their pods, the last
// warnings about them and the last lines of failed containers.
//
// After a crash the next process inspects the cluster before it acts. It takes up pending releases, because only one process at
// a time works on an operation.
package kubernetes
