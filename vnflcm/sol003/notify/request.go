package notify

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// maxURI is the length of the longest callback URI or token endpoint.
const maxURI = 2048

// The values that filters may have.
var (
	notificationTypes = []sol003.NotificationType{sol003.OperationNotification, sol003.CreationNotification, sol003.DeletionNotification}
	packageTypes      = []sol003.NotificationType{sol003.PackageOnboardingNotification, sol003.PackageChangeNotification}
	// SOL003 v3.3.1 5.5.4.3: also operations that this VNFM does not have.
	operationTypes = []vnflcm.LcmOperation{"INSTANTIATE", "SCALE", "SCALE_TO_LEVEL", "CHANGE_FLAVOUR", "TERMINATE", "HEAL", "OPERATE",
		"CHANGE_EXT_CONN", "MODIFY_INFO", "CREATE_SNAPSHOT", "REVERT_TO_SNAPSHOT", "CHANGE_VNFPKG"}
	operationStates = []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.Completed, vnflcm.FailedTemp, vnflcm.Failed,
		vnflcm.RollingBack, vnflcm.RolledBack}
)

// The ways to authenticate of SOL003 v2.6.1 4.4.1.4, the preferred one first.
const (
	oauth2Type      = "OAUTH2_CLIENT_CREDENTIALS"
	certificateType = "TLS_CERT"
	basicType       = "BASIC"
)

var authTypes = []string{oauth2Type, certificateType, basicType}

// faults collects the faults of a request.
type faults []error

func (f *faults) add(path, value, reason string) {
	*f = append(*f, &vnflcm.ParamError{Path: path, Value: value, Reason: reason})
}

// check returns every fault of a request. hasCertificate says whether the VNFM has a client certificate.
func check(req sol003.SubscriptionRequest, hasCertificate bool) error {
	var f faults
	f.checkURI("callbackUri", req.CallbackURI, "http", "https")
	if req.Verbosity != "" && req.Verbosity != sol003.Full && req.Verbosity != sol003.Short {
		f.add("verbosity", string(req.Verbosity), "must be FULL or SHORT")
	}
	if filter := req.Filter; filter != nil {
		checkValues(&f, "filter.notificationTypes", filter.NotificationTypes, notificationTypes)
		checkValues(&f, "filter.operationTypes", filter.OperationTypes, operationTypes)
		checkValues(&f, "filter.operationStates", filter.OperationStates, operationStates)
	}
	if filter := req.Packages; filter != nil {
		checkValues(&f, "filter.notificationTypes", filter.NotificationTypes, packageTypes)
		checkValues(&f, "filter.operationalState", filter.OperationalStates, []string{"ENABLED", "DISABLED"})
	}
	if req.Authentication != nil {
		f.checkAuthentication(*req.Authentication, hasCertificate)
	}
	return errors.Join(f...)
}

func checkValues[T ~string](f *faults, path string, values, known []T) {
	for i, value := range values {
		if !slices.Contains(known, value) {
			f.add(fmt.Sprintf("%s[%d]", path, i), string(value), fmt.Sprintf("must be one of %v", known))
		}
	}
}

// checkURI does not show the URI: it may hold credentials.
func (f *faults) checkURI(path, uri string, schemes ...string) {
	parsed, err := url.Parse(uri)
	switch {
	case uri == "":
		f.add(path, "", "is required")
	case len(uri) > maxURI:
		f.add(path, "", fmt.Sprintf("is longer than %d bytes", maxURI))
	case err != nil || !slices.Contains(schemes, parsed.Scheme) || parsed.Hostname() == "":
		f.add(path, "", "must be an absolute URI with the scheme "+strings.Join(schemes, " or "))
	case parsed.User != nil:
		f.add(path, "", "must not contain a user or a password: use authentication")
	case parsed.Fragment != "":
		f.add(path, "", "must not have a fragment")
	}
}

func (f *faults) checkAuthentication(a sol003.SubscriptionAuthentication, hasCertificate bool) {
	const path = "authentication."
	if len(a.AuthType) == 0 {
		f.add(path+"authType", "", "is required")
	}
	checkValues(f, path+"authType", a.AuthType, authTypes)
	if slices.Contains(a.AuthType, basicType) {
		f.checkBasic(path+"paramsBasic", a.ParamsBasic)
	}
	if slices.Contains(a.AuthType, oauth2Type) {
		f.checkOAuth(path+"paramsOauth2ClientCredentials", a.ParamsOAuth)
	}
	if slices.Equal(a.AuthType, []string{certificateType}) && !hasCertificate {
		f.add(path+"authType", certificateType, "is not possible: this VNFM has no client certificate")
	}
}

func (f *faults) checkBasic(path string, p *sol003.BasicCredentials) {
	if p == nil {
		f.add(path, "", "is required with authType "+basicType)
		return
	}
	if p.UserName == "" {
		f.add(path+".userName", "", "is required")
	}
	if p.Password.IsZero() {
		f.add(path+".password", "", "is required")
	}
}

func (f *faults) checkOAuth(path string, p *sol003.OAuth2Credentials) {
	if p == nil {
		f.add(path, "", "is required with authType "+oauth2Type)
		return
	}
	if p.ClientID == "" {
		f.add(path+".clientId", "", "is required")
	}
	if p.ClientPassword.IsZero() {
		f.add(path+".clientPassword", "", "is required")
	}
	f.checkURI(path+".tokenEndpoint", p.TokenEndpoint, "https") // RFC 6749 3.2
}
