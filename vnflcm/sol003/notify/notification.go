package notify

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// kindOf returns the type of the notification for a change, "" if SOL003 has none.
func kindOf(c vnflcm.ChangeEntry) sol003.NotificationType {
	switch c.Kind {
	case vnflcm.InstanceCreated:
		return sol003.CreationNotification
	case vnflcm.InstanceDeleted:
		return sol003.DeletionNotification
	case vnflcm.OperationEntered:
		return sol003.OperationNotification
	case vnflcm.PackageOnboarded:
		return sol003.PackageOnboardingNotification
	case vnflcm.PackageStateChanged, vnflcm.PackageDeleted:
		return sol003.PackageChangeNotification
	default:
		return ""
	}
}

// matches reports whether a subscription selects a change, which is sent as a notification of this type.
func (s *subscription) matches(c vnflcm.ChangeEntry, kind sol003.NotificationType) bool {
	if c.Package != nil || s.Packages != nil {
		return c.Package != nil && s.Packages != nil && s.matchesPackage(c, kind)
	}
	if kind == "" || s.Subscriber.Tenant != "" && s.Subscriber.Tenant != c.VNF.Tenant {
		return false
	}
	if c.Operation != nil && s.Subscriber.API != "v2" && !sol003.HasOperationV1(c.Operation.Operation) {
		return false
	}
	f := s.Request.Filter
	if f == nil {
		return true
	}
	if !allows(f.NotificationTypes, kind) || f.Instances != nil && !matchesInstance(*f.Instances, c.VNF) && !matchesInstance(*f.Instances, identityAfter(c)) {
		return false
	}
	return c.Operation == nil || allows(f.OperationTypes, s.kindOf(c.Operation)) && allows(f.OperationStates, c.Operation.OperationState)
}

// kindOf returns the kind that the version of the API of the subscription shows for an operation.
func (s *subscription) kindOf(occ *vnflcm.VnfLcmOpOcc) vnflcm.LcmOperation {
	if s.Subscriber.API == "v2" {
		return occ.Operation
	}
	return sol003.OperationInV1(occ.Operation)
}

// matchesPackage reports whether a subscription selects a change of a package. A package without tenant concerns all tenants.
func (s *subscription) matchesPackage(c vnflcm.ChangeEntry, kind sol003.NotificationType) bool {
	if tenant := s.Subscriber.Tenant; kind == "" || tenant != "" && c.VNF.Tenant != "" && c.VNF.Tenant != tenant {
		return false
	}
	f := s.Packages
	return allows(f.NotificationTypes, kind) && allows(f.VnfdIDs, c.VNF.VnfdID) && allows(f.VnfPkgIDs, c.Package.ID) &&
		allows(f.OperationalStates, c.Package.OperationalState) &&
		(len(f.VnfmInfo) == 0 || slices.ContainsFunc(c.Package.VnfmInfo, func(info string) bool { return slices.Contains(f.VnfmInfo, info) })) &&
		matchesProviders(f.Providers, c.VNF)
}

// allows reports whether a list of a filter has a value, or is absent.
func allows[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}

// identityAfter returns the attributes of the VNF after a change of its package that has completed: subscribers to its new VNFD learn that
// the VNF has it.
func identityAfter(c vnflcm.ChangeEntry) vnflcm.VNFIdentity {
	v := c.VNF
	if c.Operation == nil || c.Operation.ModificationsTriggeredByVnfPkgChange == nil {
		return v
	}
	now := c.Operation.ModificationsTriggeredByVnfPkgChange
	v.VnfdID, v.VnfProvider, v.VnfProductName = cmp.Or(now.VnfdID, v.VnfdID), cmp.Or(now.VnfProvider, v.VnfProvider), cmp.Or(now.VnfProductName, v.VnfProductName)
	v.VnfSoftwareVersion, v.VnfdVersion = cmp.Or(now.VnfSoftwareVersion, v.VnfSoftwareVersion), cmp.Or(now.VnfdVersion, v.VnfdVersion)
	return v
}

func matchesInstance(f sol003.InstanceFilter, v vnflcm.VNFIdentity) bool {
	return allows(f.VnfdIDs, v.VnfdID) && allows(f.VnfInstanceIDs, v.InstanceID) && allows(f.VnfInstanceNames, v.InstanceName) &&
		matchesProviders(f.Providers, v)
}

func matchesProviders(list []sol003.ProviderFilter, v vnflcm.VNFIdentity) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(p sol003.ProviderFilter) bool { return matchesProvider(p, v) })
}

func matchesProvider(f sol003.ProviderFilter, v vnflcm.VNFIdentity) bool {
	isVersion := func(version sol003.VersionFilter) bool {
		return version.VnfSoftwareVersion == v.VnfSoftwareVersion && allows(version.VnfdVersions, v.VnfdVersion)
	}
	isProduct := func(p sol003.ProductFilter) bool {
		return p.VnfProductName == v.VnfProductName && (len(p.Versions) == 0 || slices.ContainsFunc(p.Versions, isVersion))
	}
	return f.VnfProvider == v.VnfProvider && (len(f.VnfProducts) == 0 || slices.ContainsFunc(f.VnfProducts, isProduct))
}

type object = map[string]any

type link struct {
	Href string `json:"href"`
}

// notification returns the document for a change (SOL003 v2.6.1 5.5.2.17 to 5.5.2.19).
func (s *subscription) notification(c vnflcm.ChangeEntry, kind sol003.NotificationType) ([]byte, error) {
	if c.Package != nil {
		return s.packageNotification(c, kind)
	}
	base := s.Subscriber.APIRoot + "/vnflcm/" + s.Subscriber.API
	links := map[string]link{
		"subscription": {base + "/subscriptions/" + url.PathEscape(s.ID)},
		"vnfInstance":  {base + "/vnf_instances/" + url.PathEscape(c.VNF.InstanceID)},
	}
	document := object{"id": c.ID, "notificationType": kind, "subscriptionId": s.ID, "timeStamp": c.Time.Format(time.RFC3339Nano),
		"vnfInstanceId": c.VNF.InstanceID, "_links": links}
	if c.Operation != nil {
		links["vnfLcmOpOcc"] = link{base + "/vnf_lcm_op_occs/" + url.PathEscape(c.Operation.ID)}
		if err := s.describe(c.Operation, document); err != nil {
			return nil, err
		}
	}
	return json.Marshal(document)
}

// packageNotification returns the document for a change of a package (SOL003 v2.6.1 10.5.2.5 and 10.5.2.6).
func (s *subscription) packageNotification(c vnflcm.ChangeEntry, kind sol003.NotificationType) ([]byte, error) {
	base := s.Subscriber.APIRoot + "/vnfpkgm/" + s.Subscriber.API
	document := object{"id": c.ID, "notificationType": kind, "subscriptionId": s.ID, "timeStamp": c.Time.Format(time.RFC3339Nano),
		"vnfPkgId": c.Package.ID, "vnfdId": c.VNF.VnfdID, "_links": map[string]link{
			"subscription": {base + "/subscriptions/" + url.PathEscape(s.ID)},
			"vnfPackage":   {base + "/vnf_packages/" + url.PathEscape(c.Package.ID)},
		}}
	switch c.Kind {
	case vnflcm.PackageStateChanged:
		document["changeType"], document["operationalState"] = "OP_STATE_CHANGE", c.Package.OperationalState
	case vnflcm.PackageDeleted:
		document["changeType"] = "PKG_DELETE"
	}
	if s.Subscriber.API == "v2" && kind == sol003.PackageOnboardingNotification {
		document["vnfmInfo"] = append([]string{}, c.Package.VnfmInfo...) // a list, even without items
	}
	return json.Marshal(document)
}

// describe adds the attributes of an operation to a notification.
func (s *subscription) describe(occ *vnflcm.VnfLcmOpOcc, document object) error {
	marshal := sol003.MarshalOperationV1
	if s.Subscriber.API == "v2" {
		document["verbosity"] = s.Request.Verbosity
		marshal = sol003.MarshalOperationV2
	}
	text, err := marshal(occ)
	if err != nil {
		return err
	}
	var operation struct {
		ResourceChanges map[string]json.RawMessage `json:"resourceChanges"`
		ChangedInfo     map[string]json.RawMessage `json:"changedInfo"`
		PackageChange   map[string]json.RawMessage `json:"modificationsTriggeredByVnfPkgChange"`
		Connectivity    json.RawMessage            `json:"changedExtConnectivity"`
		Error           json.RawMessage            `json:"error"`
	}
	if err := json.Unmarshal(text, &operation); err != nil {
		return err
	}
	document["vnfLcmOpOccId"], document["operation"], document["operationState"] = occ.ID, s.kindOf(occ), occ.OperationState
	document["isAutomaticInvocation"] = occ.IsAutomaticInvocation
	document["notificationStatus"] = "START"
	if slices.Contains([]vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack}, occ.OperationState) {
		return nil
	}
	document["notificationStatus"] = "RESULT"
	if operation.Error != nil {
		document["error"] = operation.Error
	}
	if len(operation.ChangedInfo) > 0 {
		document["changedInfo"] = operation.ChangedInfo
	}
	if len(operation.PackageChange) > 0 {
		document["modificationsTriggeredByVnfPkgChange"] = operation.PackageChange
	}
	if s.Request.Verbosity == sol003.Short {
		return nil
	}
	for name, affected := range operation.ResourceChanges {
		document[name] = affected
	}
	if operation.Connectivity != nil {
		document["changedExtConnectivity"] = operation.Connectivity
	}
	return nil
}
