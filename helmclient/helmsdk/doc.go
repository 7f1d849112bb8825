// Package helmsdk is helmclient.Client by Helm's own Go packages (helm.sh/helm/v3), in this process: no helm program, no
// kubeconfig, no environment variable and no file outside of one directory.
//
// Each call has a configuration of its own (action.Configuration, discovery, REST mapper); what calls share are the
// connections to the API server and the directory. What differs from Helm's own command:
//   - When ctx ends, Helm is stopped: requests fail, waits end, and the call returns only when nothing of Helm runs any
//     more. What records the end of a release has a grace of its own, so that a release is not left pending.
//   - Waits follow Helm's rules of what is ready, and tell on the way, and when they fail, what is waited for and why.
//   - Charts are fetched with limits of size, and with errors that tell an unreachable server from a refused password.
//
// Kubernetes' own Go packages report some troubles with discovery by klog, which writes to standard error unless the
// program says otherwise: klog.SetSlogLogger leads it into a log.
//
// HTTP proxies are the one thing taken from the environment, as Go's own HTTP client does.
package helmsdk
