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
// Kubernetes' Go packages report some errors of discovery by klog, which writes to standard error by default:
// klog.SetSlogLogger redirects it to a log.
//
// HTTP proxies are taken from the environment, as Go's HTTP client does. Nothing else is.
package helmsdk
