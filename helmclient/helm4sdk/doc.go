// Package helm4sdk implements helmclient.Client with the Go packages of Helm 4 (helm.sh/helm/v4), in this process. Like
// package helmsdk, which uses Helm 3, it needs no helm program, no kubeconfig and no environment variable, and writes
// files only in one directory. A call ends when its ctx ends, and a wait reports the objects it waits for. Both
// packages can read, upgrade and uninstall the releases of the other, and may share Config.Dir.
//
// Differences from package helmsdk:
//   - Objects of new releases are applied by server-side apply, as field manager "helm". A release that Helm 3 has made
//     stays with client-side apply, as with Helm 4's own command ("auto").
//   - An upgrade also sets fields of the chart that another client, such as kubectl, has changed (--force-conflicts), as
//     client-side apply does. Without that the upgrade would fail.
//   - Objects are ready by the rules of kstatus, which also waits for custom resources. An object whose status reports a
//     failure ends the wait.
//   - Existing CRDs stay unchanged unless the request replaces them. Helm 4's own command changes them.
//
// Kubernetes' Go packages log to klog as with package helmsdk. Some messages reach the default loggers of packages slog
// and log, because Helm 4 calls them without a way to replace them, and this package does not change loggers that belong
// to the program. To slog: patterns of .helmignore (ignore), lookups and required values in templates (engine), unknown hooks
// (release/v1/util), entries of a repository index (repo/v1), an object that the last revision lacks, and at level debug
// patches (kube). To log: values that do not fit a chart (chart/common/util), outdated files in a chart (chart/v2/loader), and
// failed deletions of hooks (action).
package helm4sdk
