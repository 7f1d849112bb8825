// Package helmsdk implements helmclient.Client with the Go packages of Helm 3 (helm.sh/helm/v3), in this process. It
// needs no helm program, no kubeconfig and no environment variable, and writes files only in one directory.
//
// Each call has a separate configuration (action.Configuration, discovery, REST mapper); calls share the connections to
// the API server and the directory. Differences from Helm's own command:
//   - When ctx ends, Helm is stopped: requests fail, waits end, and the call returns only after all of Helm's work has
//     ended. The requests that record the end of a release have additional time, so that a release is not left pending.
//   - Waits follow Helm's rules for readiness. They report, during the wait and when it fails, which objects are not ready
//     and why.
//   - Charts are fetched with size limits, and with errors that distinguish an unreachable server from a refused password.
//
// Kubernetes' Go packages log to klog, which has one destination for the process. This package sets it when the program
// starts: to the Config.Log of the Client that was made last, and to nothing without one. A program that wants another
// destination calls klog.SetSlogLogger in its main function.
//
// Some messages reach the default logger of package log, because Helm 3 calls it without a way to replace it, and this
// package does not change a logger that belongs to the program: warnings about values that do not fit a chart
// (chartutil.CoalesceValues, chartutil.ProcessDependencies), about outdated files in a chart and symbolic links (chart/loader),
// patterns of .helmignore (ignore), lookups and required values in templates (engine), entries of a repository index (repo),
// unknown hooks (releaseutil), and failed deletions of hooks (action).
//
// HTTP proxies are taken from the environment, as Go's HTTP client does. Nothing else is.
package helmsdk
