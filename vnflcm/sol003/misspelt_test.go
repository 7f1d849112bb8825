package sol003_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// misspeltCase is a body with misspelt attributes, and the answer of the routes that read such a body.
type misspeltCase struct {
	body string
	// refused is the detail of the answer.
	refused string
	// warned is the header Warning of the answer. The request is accepted.
	warned string
	status int
	// other says why the route has no attributes.
	other string
}

const (
	noAttribute  = ": is no attribute of this request"
	noSuchTask   = "the task does not exist"
	lcmFilter    = `,"callbackUri":"{callback}/none"`
	anyAttribute = "vnfcInstanceId" + noAttribute
)

// misspellings has a row for every route that reads a body.
var misspellings = map[string][]misspeltCase{
	"POST /vnflcm/{v}/vnf_instances": {{body: `{"vnfdId":"{vnfd}","vnfInstancename":"n"}`, status: 201,
		warned: `299 - "vnfInstancename: is no attribute of this request; did you mean \"vnfInstanceName\"?"`}},
	"PATCH /vnflcm/{v}/vnf_instances/{id}": {{body: `{"vnfInstanceNam":"n","vnfPkgId":"p","vimConnectionInfo":[{"id":"x","vimId":"{vim}","vimType":"toy","vimTyp":"toy"}]}`, status: 202,
		warned: `299 - "vimConnectionInfo[0].vimTyp: is no attribute of this request; did you mean \"vimType\"?", ` +
			`299 - "vnfInstanceNam: is no attribute of this request; did you mean \"vnfInstanceName\"?", 299 - "vnfPkgId: has no effect in vnfkit"`}},
	"POST /vnflcm/{v}/vnf_instances/{id}/instantiate": {{body: `{"flavourId":"simple","instantiationLevel":"large","selectedDeployableModule":["m"]}`, status: 202,
		warned: `299 - "instantiationLevel: is no attribute of this request; did you mean \"instantiationLevelId\"?", 299 - "selectedDeployableModule: has no effect in vnfkit"`}},
	"POST /vnflcm/{v}/vnf_instances/{id}/scale":                  {scaleCase},
	"POST /vnflcm/{v}/vnf_instances/{id}/scale_to_level":         {scaleToLevelCase},
	"POST /vnflcm/{v}/vnf_instances/{id}/heal":                   {healCase},
	"POST /vnflcm/{v}/vnf_instances/{id}/terminate":              {terminateCase},
	"POST /vnflcm/{v}/vnf_instances/{id}/change_flavour":         {{other: noSuchTask}},
	"POST /vnflcm/{v}/vnf_instances/{id}/operate":                {operateCase},
	"POST /vnflcm/{v}/vnf_instances/{id}/change_vnfpkg":          {{other: "version 1 does not have the task; the preview reads the same body"}},
	"POST /vnflcm/{v}/vnf_instances/{id}/create_snapshot":        {{other: "version 1 does not have the task; the preview reads the same body"}},
	"POST /vnflcm/{v}/vnf_snapshots":                             {snapshotInfoCase},
	"POST /maintenance/v1/vnf_snapshots":                         {snapshotInfoCase},
	"POST /maintenance/v1/vnf_instances/{id}/create_snapshot":    {snapshotCase},
	"POST /preview/v1/vnf_instances/{id}/create_snapshot":        {snapshotCase},
	"POST /vnflcm/{v}/vnf_instances/{id}/revert_to_snapshot":     {{other: "version 1 does not have the task; the preview reads the same body"}},
	"POST /maintenance/v1/vnf_instances/{id}/revert_to_snapshot": {snapshotCase},
	"POST /preview/v1/vnf_instances/{id}/revert_to_snapshot":     {snapshotCase},
	"POST /vnflcm/{v}/vnf_instances/{id}/change_ext_conn": {{body: `{"extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[{"cpdId":"worker_cp","cpConf":[]}]}]}`,
		refused: `extVirtualLinks[0].extCps[0].cpConf: is no attribute of this request; did you mean "cpConfig"?`}},

	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/retry":    {{body: `{"vnfcInstanceId":["w"]}`, refused: anyAttribute}},
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/rollback": {{body: `{"vnfcInstanceId":["w"]}`, refused: anyAttribute}},
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/fail":     {{body: `{"vnfcInstanceId":["w"]}`, refused: anyAttribute}},
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/cancel": {{body: `{"cancelMode":"GRACEFUL","cancelmode":"FORCEFUL"}`,
		refused: `cancelmode: is no attribute of this request; did you mean "cancelMode"?`}},

	"POST /vnflcm/{v}/subscriptions": {
		{body: `{"filtre":{}` + lcmFilter + `}`, refused: `filtre: is no attribute of this request; did you mean "filter"?`},
		{body: `{"filter":{"operationType":["HEAL"]}` + lcmFilter + `}`, refused: `filter.operationType: is no attribute of this request; did you mean "operationTypes"?`},
		{body: `{"filter":{"vnfInstanceSubscriptionFilter":{"vnfInstanceId":["i"]}}` + lcmFilter + `}`,
			refused: `filter.vnfInstanceSubscriptionFilter.vnfInstanceId: is no attribute of this request; did you mean "vnfInstanceIds"?`},
		{body: `{"filter":{"vnfInstanceSubscriptionFilter":{"vnfProductsFromProviders":[{"vnfProvider":"p","vnfProducts":[{"vnfProductName":"n","versions":[{"vnfSoftwareVersion":"1","vnfdVersion":["1"]}]}]}]}}` + lcmFilter + `}`,
			refused: `filter.vnfInstanceSubscriptionFilter.vnfProductsFromProviders[0].vnfProducts[0].versions[0].vnfdVersion: is no attribute of this request; did you mean "vnfdVersions"?`},
		{body: `{"authentication":{"authType":["TLS_CERT"],"paramBasic":{}}` + lcmFilter + `}`,
			refused: `authentication.paramBasic: is no attribute of this request; did you mean "paramsBasic"?`},
		{body: `{"verbosity":"SHORT","authentication":{"authType":["BASIC"],"paramsBasic":{"userName":"u","password":"p"},"paramsOauth2ClientCert":{"clientId":"c"}},"callbackUri":"{callback}/more"}`,
			status: 201, warned: `299 - "authentication.paramsOauth2ClientCert: has no effect in vnfkit"`},
	},
	"POST /vnfpkgm/{v}/subscriptions": {
		{body: `{"filter":{"vnfdIds":["v"]}` + lcmFilter + `}`, refused: `filter.vnfdIds: is no attribute of this request; did you mean "vnfdId"?`},
		{body: `{"filter":{"usageState":"IN_USE","vnfdId":["v"]},"callbackUri":"{callback}/used"}`, status: 201, warned: `299 - "filter.usageState: has no effect in vnfkit"`},
	},

	"POST /preview/v1/vnf_instances/{id}/instantiate": {{body: `{"flavourId":"simple","instantiationLevel":"large"}`, status: 200,
		warned: `299 - "instantiationLevel: is no attribute of this request; did you mean \"instantiationLevelId\"?"`}},
	"POST /preview/v1/vnf_instances/{id}/scale":          {scaleCase},
	"POST /preview/v1/vnf_instances/{id}/scale_to_level": {scaleToLevelCase},
	"POST /preview/v1/vnf_instances/{id}/heal":           {healCase},
	"POST /preview/v1/vnf_instances/{id}/terminate":      {terminateCase},
	"POST /preview/v1/vnf_instances/{id}/operate":        {operateCase},
	"POST /preview/v1/vnf_instances/{id}/change_vnfpkg": {{body: `{"vnfdId":"other","extVirtualLink":[]}`,
		refused: `extVirtualLink: is no attribute of this request; did you mean "extVirtualLinks"?`}},
	"PATCH /preview/v1/vnf_instances/{id}": {{body: `{"vnfInstanceNam":"n"}`, status: 404,
		warned: `299 - "vnfInstanceNam: is no attribute of this request; did you mean \"vnfInstanceName\"?"`}},

	"POST /preview/v1/vnf_instances/{id}/renew_certificates":     {maintenanceCase},
	"POST /preview/v1/vnf_instances/{id}/upgrade":                {maintenanceCase},
	"POST /maintenance/v1/vnf_instances/{id}/renew_certificates": {maintenanceCase},
	"POST /maintenance/v1/vnf_instances/{id}/upgrade":            {maintenanceCase},

	"POST /v1.0/vims":      vimCases,
	"POST /v1.0/vims.json": vimCases,
	"PUT /v1.0/vims/{id}": {
		{body: `{"vim":{"isDefault":true}}`, refused: `vim.isDefault: is no attribute of this request; did you mean "is_default"?`},
		{body: `{"vim":{"description":"d","id":"i","status":"ACTIVE","placement_attr":{},"created_at":"","updated_at":null}}`, status: 200,
			warned: `299 - "vim.created_at: has no effect in vnfkit", 299 - "vim.id: has no effect in vnfkit", 299 - "vim.placement_attr: has no effect in vnfkit", ` +
				`299 - "vim.status: has no effect in vnfkit", 299 - "vim.updated_at: has no effect in vnfkit"`},
	},

	"POST /vnfpkgm/{v}/vnf_packages": {{body: `{"userdefinedData":{}}`, status: 201,
		warned: `299 - "userdefinedData: is no attribute of this request; did you mean \"userDefinedData\"?"`}},
	"PATCH /vnfpkgm/{v}/vnf_packages/{id}": {{body: `{"userDefinedData":{"a":"b"},"operationalStates":"DISABLED"}`, status: 200,
		warned: `299 - "operationalStates: is no attribute of this request; did you mean \"operationalState\"?"`}},
	"POST /vnfpkgm/{v}/vnf_packages/{id}/package_content/upload_from_uri": {{body: `{"addressInformation":"https://example.invalid/","paramsBasic":{},"userNam":"u"}`, status: 202,
		warned: `299 - "paramsBasic: has no effect in vnfkit", 299 - "userNam: is no attribute of this request; did you mean \"userName\"?"`}},
	"PUT /vnfpkgm/{v}/vnf_packages/{id}/package_content": {{other: "the body is a file"}},
}

var (
	scaleCase        = misspeltCase{body: `{"type":"SCALE_OUT","aspectId":"workers","numberOfStep":2}`, refused: `numberOfStep: is no attribute of this request; did you mean "numberOfSteps"?`}
	scaleToLevelCase = misspeltCase{body: `{"scaleInfo":[{"aspectId":"workers","scaleLevel":1,"vnfdID":"v"}]}`, refused: `scaleInfo[0].vnfdID: is no attribute of this request; did you mean "vnfdId"?`}
	healCase         = misspeltCase{body: `{"vnfcInstanceID":["w"]}`, refused: `vnfcInstanceID: is no attribute of this request; did you mean "vnfcInstanceId"?`}
	terminateCase    = misspeltCase{body: `{"terminationType":"FORCEFUL","vnfcs":["w"]}`, refused: "vnfcs" + noAttribute}
	operateCase      = misspeltCase{body: `{"changeStateTo":"STOPPED","stoptype":"GRACEFUL"}`, refused: `stoptype: is no attribute of this request; did you mean "stopType"?`}
	snapshotCase     = misspeltCase{body: `{"vnfSnapshotInfoID":"s"}`, refused: `vnfSnapshotInfoID: is no attribute of this request; did you mean "vnfSnapshotInfoId"?`}
	snapshotInfoCase = misspeltCase{body: `{"vnfSnapshotPkgID":"p"}`, status: 201, warned: `299 - "vnfSnapshotPkgID: is no attribute of this request; did you mean \"vnfSnapshotPkgId\"?"`}
	maintenanceCase  = misspeltCase{body: `{"aditionalParams":{}}`, refused: `aditionalParams: is no attribute of this request; did you mean "additionalParams"?`}
	vimCases         = []misspeltCase{
		{body: `{"vim":{"auth_url":"https://10.0.0.7","type":"toy","shar":[]}}`, refused: `vim.shar: is no attribute of this request; did you mean "share"?`},
		{body: `{"auth_url":"https://10.0.0.7"}`, refused: "auth_url" + noAttribute},
	}
)

// TestMisspeltAttributes sends misspelt attributes to every route that reads a body.
func TestMisspeltAttributes(t *testing.T) {
	t.Parallel()
	x := newTenants(t, false)
	o := x.a
	created := x.newPackage("X-Tenant", o.tenant)
	fill := strings.NewReplacer("{vnfd}", o.vnfd, "{vim}", o.vim, "{callback}", o.notifications.URL)
	used := map[string]bool{}
	for _, r := range sol003.Routes(x.options) {
		method, pattern, _ := strings.Cut(r, " ")
		if method == http.MethodGet || method == http.MethodDelete {
			continue
		}
		name := r
		for _, api := range versions {
			name = strings.NewReplacer("/vnflcm/"+api+"/", "/vnflcm/{v}/", "/vnfpkgm/"+api+"/", "/vnfpkgm/{v}/").Replace(name)
		}
		used[name] = true
		if len(misspellings[name]) == 0 {
			t.Errorf("%s has no row in the table: add one", name)
		}
		for _, c := range misspellings[name] {
			if c.other != "" {
				continue
			}
			uri := pattern
			switch {
			case strings.HasSuffix(pattern, "/vnf_instances/{id}/instantiate") && c.warned != "":
				uri = strings.Replace(pattern, "{id}", lastOf(x.send("POST", "/vnflcm/v1/vnf_instances", fill.Replace(`{"vnfdId":"{vnfd}"}`), 201, "X-Tenant", o.tenant).Header.Get("Location")), 1)
			case strings.HasSuffix(pattern, "upload_from_uri"):
				uri = strings.Replace(pattern, "{id}", lastOf(created), 1)
			case strings.Contains(pattern, "{id}"):
				id := map[foreign]string{instance: o.instances[1], operation: o.operations[0], pack: o.packages[0], vim: o.vim}[isolation[name].names]
				uri = strings.Replace(pattern, "{id}", id, 1)
			}
			c.check(t, x, method, uri, fill.Replace(c.body))
		}
	}
	for name := range misspellings {
		if !used[name] {
			t.Errorf("%s is in the table and does not exist", name)
		}
	}
}

// TestTasksWithoutAttributes checks that the tasks without attributes can be sent without a body, with null and with an empty object.
func TestTasksWithoutAttributes(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	completed := x.send("POST", x.create("v1")+"/instantiate", instantiate, 202).Header.Get("Location")
	x.await(completed, vnflcm.Completed)
	for _, task := range []string{"retry", "rollback", "fail"} {
		for body, want := range map[string]int{"": 409, "{}": 409, "null": 409, "x": 400, "[]": 422} {
			x.send("POST", completed+"/"+task, body, want)
		}
	}
}

// TestMisspeltFilters checks that a filter with the name of no attribute is refused at any depth: with neq it would select everything.
func TestMisspeltFilters(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{})
	for query, want := range map[string]string{
		"vnf_instances?filter=(neq,vnfInstancename,x)":                       `filter: there is no attribute "vnfInstancename"; did you mean "vnfInstanceName"?`,
		"vnf_instances?filter=(neq,instantiatedVnfInfo/flavurId,x)":          `filter: there is no attribute "instantiatedVnfInfo/flavurId"; did you mean "flavourId"?`,
		"vnf_lcm_op_occs?filter=(neq,resourceChanges/affectedVnfcs/vduid,x)": `filter: there is no attribute "resourceChanges/affectedVnfcs/vduid"; did you mean "vduId"?`,
		"vnf_instances?filters=(eq,id,x)":                                    `the resource has no query parameter "filters"; did you mean "filter"?`,
		"vnf_instances?fields=metadat":                                       `fields: "metadat" is no attribute that can be chosen: only objects and lists that are not mandatory can; did you mean "metadata"?`,
	} {
		if diff := cmp.Diff(want, x.send("GET", "/vnflcm/v2/"+query, "", 400).detail()); diff != "" {
			t.Errorf("%s:\n%s", query, diff)
		}
	}
	for _, path := range []string{"vimConnectionInfo/own/vimId", "metadata/any/thing", "extensions/x", "instantiatedVnfInfo/monitoringParameters/performanceMetric",
		"instantiatedVnfInfo/vnfcResourceInfo/reservationId", "instantiatedVnfInfo/extVirtualLinkInfo/currentVnfExtCpData/cpConfig/@key"} {
		x.send("GET", "/vnflcm/v2/vnf_instances?filter=(eq,"+path+",x)", "", 200)
	}
}

// lastOf returns the last segment of a URI.
func lastOf(uri string) string { return uri[strings.LastIndex(uri, "/")+1:] }

// check sends the body, whose attributes are those of the case.
func (c misspeltCase) check(t *testing.T, x *tenants, method, uri, body string) {
	t.Helper()
	status := c.status
	switch {
	case c.refused == "":
	case strings.HasPrefix(uri, "/v1.0/"):
		status = http.StatusBadRequest
	default:
		status = http.StatusUnprocessableEntity
	}
	a := x.send(method, uri, body, status, "X-Tenant", x.a.tenant)
	if status == http.StatusAccepted && a.Header.Get("Location") != "" {
		x.await(a.Header.Get("Location"), vnflcm.Completed) // another version of the API changes the same instance
	}
	if c.refused != "" {
		if diff := cmp.Diff(c.refused, a.detail()); diff != "" {
			t.Errorf("%s %s: detail:\n%s", method, uri, diff)
		}
		return
	}
	if diff := cmp.Diff(c.warned, a.Header.Get("Warning")); diff != "" {
		t.Errorf("%s %s: Warning:\n%s", method, uri, diff)
	}
}
