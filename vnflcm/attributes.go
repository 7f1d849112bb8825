package vnflcm

import (
	"fmt"
	"path"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// dataType describes the attributes of a data type of requests beyond the fields of its Go type.
type dataType struct {
	// strict: an attribute that the standards do not have is a fault, here and in the data types within. If the attribute were ignored,
	// the request would have a wider effect than the client meant.
	strict bool
	// ignored are attributes of some version of SOL003 (v2.4.1 to v5.1.1), of SOL002 or of OpenStack Tacker that the Go type does not
	// have. A client may send them; they have no effect.
	ignored []string
	// idle are fields of the Go type that are shown in documents and change nothing.
	idle []string
}

// dataTypes has the data types of all requests by the name of the Go type. The types of package sol003 and onboarding are listed by name
// because vnflcm does not import these packages. A Go type that is missing here has no ignored attributes and is not strict.
var dataTypes = map[string]dataType{
	"vnflcm.InstantiateVnfRequest":           {ignored: []string{"selectedDeployableModule", "certificateConfigurationData"}},
	"vnflcm.VnfInfoModificationRequest":      {ignored: []string{"vnfPkgId", "vnfcInfoModificationsDeleteList"}},
	"vnflcm.ScaleVnfRequest":                 {strict: true},
	"vnflcm.ScaleVnfToLevelRequest":          {strict: true},
	"vnflcm.HealVnfRequest":                  {strict: true},
	"vnflcm.TerminateVnfRequest":             {strict: true},
	"vnflcm.ChangeExtVnfConnectivityRequest": {strict: true},
	"vnflcm.OperateVnfRequest":               {strict: true},
	"vnflcm.ChangeCurrentVnfPkgRequest":      {strict: true, ignored: []string{"selectedDeployableModule", "certificateConfigurationData"}},

	"vnflcm.CreateVnfSnapshotInfoRequest": {ignored: []string{"vnfSnapshot"}},
	"vnflcm.CreateVnfSnapshotRequest":     {strict: true},
	"vnflcm.RevertToVnfSnapshotRequest":   {strict: true},

	"vnflcm.ExtVirtualLinkData": {ignored: []string{"extNetAttDefResourceData"}, idle: []string{"vimConnectionId"}}, // a VNF and its networks are on one VIM
	"vnflcm.ExtManagedVirtualLinkData": {ignored: []string{"vnfLinkPort", "extManagedMultisiteVirtualLinkId", "netAttDefResourceData", "intCp"},
		idle: []string{"vimConnectionId"}},
	"vnflcm.VnfExtCpConfig":            {ignored: []string{"parentCpConfigId", "createExtLinkPort", "netAttDefResourceId"}},
	"vnflcm.CpProtocolData":            {ignored: []string{"virtualCpAddress"}},
	"vnflcm.IPOverEthernetAddressData": {ignored: []string{"segmentationId", "segmentationType"}},
	"vnflcm.ExtLinkPortData":           {ignored: []string{"trunkResourceId"}},
	"vnflcm.ResourceHandle":            {ignored: []string{"vimLevelAdditionalResourceInfo", "containerNamespace"}},
	"vnflcm.VimConnectionInfo":         {ignored: []string{"vimConnectionId"}}, // of Tacker's client

	"sol003.SubscriptionRequest":        {strict: true},
	"sol003.packageSubscriptionRequest": {strict: true},
	"sol003.SubscriptionAuthentication": {ignored: []string{"paramsOauth2ClientCert"}},
	"sol003.PackageFilter":              {ignored: []string{"usageState"}},
	"sol003.maintenanceBody":            {strict: true},
	"sol003.cancelBody":                 {strict: true},
	"sol003.emptyBody":                  {strict: true},
	"sol003.vimRequest":                 {strict: true},
	"sol003.vimBody":                    {ignored: []string{"id", "status", "placement_attr", "shared", "created_at", "updated_at"}}, // of Tacker's documents

	"onboarding.Address": {ignored: []string{"authType", "paramsBasic", "paramsOauth2ClientCredentials"}},
}

// dataTypeOf returns the description of a Go type.
func dataTypeOf(t reflect.Type) dataType {
	module := path.Dir(reflect.TypeFor[Params]().PkgPath())
	if !strings.HasPrefix(t.PkgPath(), module) {
		return dataType{}
	}
	return dataTypes[path.Base(t.PkgPath())+"."+t.Name()]
}

// ignoredAttribute is an attribute of a document that has no effect.
type ignoredAttribute struct {
	path, name string
	standard   bool             // the standards have the attribute
	known      map[string][]int // the attributes of the Go type, which may be meant
}

// maxSuggestions bounds the names for which the nearest one is sought, because that takes long.
const maxSuggestions = 100

func (a ignoredAttribute) reason() string {
	if a.standard {
		return "has no effect in vnfkit"
	}
	reason := "is no attribute of this request"
	if meant := problem.Nearest(a.name, sortedKeys(a.known)); meant != "" {
		reason += fmt.Sprintf("; did you mean %q?", meant)
	}
	return reason
}

func (a ignoredAttribute) fault() error { return &ParamError{Path: a.path, Reason: a.reason()} }

// warning names the attribute, by the beginning of a long path.
func (a ignoredAttribute) warning() string {
	const longest = 100
	shown := a.path
	if len(shown) > longest {
		shown = shown[:longest]
		for !utf8.ValidString(shown) {
			shown = shown[:len(shown)-1]
		}
		shown += "…"
	}
	return shown + ": " + a.reason()
}
