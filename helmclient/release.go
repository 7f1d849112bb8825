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

// Pending reports that an operation has not said yet how it ended.
func (s State) Pending() bool {
	return s == PendingInstall || s == PendingUpgrade || s == PendingRollback || s == Uninstalling
}

// Release is one revision of one.
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
}

// ChartInfo is what a chart says of itself (Chart.yaml).
type ChartInfo struct {
	Name, Version, AppVersion, Description string
}

// Object is a Kubernetes object of a release, and why it is not ready.
type Object struct {
	APIVersion, Kind, Namespace, Name string

	Reason string   // such as "2 of 3 pods are ready"
	Pods   []string // what its pods wait for: "web-7d9: ImagePullBackOff: ..."
	Events []string // the last that were warnings
}
