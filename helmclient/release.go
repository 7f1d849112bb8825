package helmclient

import "time"

// State of a revision (helm.sh/helm, release.Status).
type State string

// The states.
const (
	Unknown         State = "unknown"
	Deployed        State = "deployed"
	Uninstalled     State = "uninstalled"
	Superseded      State = "superseded"
	Failed          State = "failed"
	Uninstalling    State = "uninstalling"
	PendingInstall  State = "pending-install"
	PendingUpgrade  State = "pending-upgrade"
	PendingRollback State = "pending-rollback"
)

// Pending reports whether an operation on the release has not finished.
func (s State) Pending() bool {
	return s == PendingInstall || s == PendingUpgrade || s == PendingRollback || s == Uninstalling
}

// Release describes one revision of a Helm release.
type Release struct {
	Name
	Revision    int
	State       State
	Updated     time.Time
	Chart       ChartInfo
	Labels      map[string]string
	Description string
	Notes       string
	Manifest    string // empty in lists and histories
	Hooks       []Hook // only of Install and Upgrade with DryRun
}

// Hook is an object of a chart that Helm creates at events of a release, in addition to the manifest.
type Hook struct {
	Manifest string
	Events   []string // such as "pre-upgrade"
}

// ChartInfo is the metadata of a chart (Chart.yaml).
type ChartInfo struct {
	Name, Version, AppVersion, Description string
}

// Object is a Kubernetes object of a release, and the reason why it is not ready.
type Object struct {
	APIVersion, Kind, Namespace, Name string

	Reason string   // such as "2 of 3 pods are ready"
	Pods   []string // why its pods wait: "web-7d9: ImagePullBackOff: ..."
	Events []string // the latest events of type Warning
	Logs   []string // the last lines of its containers that have failed, as far as they were read
}
