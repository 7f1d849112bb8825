package sol003_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// foreign is the kind of resource of another tenant to which a route refers.
type foreign int

const (
	common foreign = iota // the answer is the same for all tenants
	list
	instance
	operation
	subscription
	vim
	snapshot
	vims     // a list without the parameters of SOL003
	pack     // a VNF package
	vnfd     // the id of the VNFD of a package
	creation // the creation of a document; its body may refer to resources of another tenant
)

// isolation has a row for every route: the kind of resource in the path, and a valid body.
var isolation = map[string]struct {
	names foreign
	body  string
}{
	"GET /vnflcm/api_versions":     {names: common},
	"GET /vnflcm/{v}/api_versions": {names: common},

	"POST /vnflcm/{v}/vnf_instances":        {names: creation},
	"GET /vnflcm/{v}/vnf_instances":         {names: list},
	"GET /vnflcm/{v}/vnf_instances/{id}":    {names: instance},
	"PATCH /vnflcm/{v}/vnf_instances/{id}":  {names: instance, body: `{"vnfInstanceName":"stolen"}`},
	"DELETE /vnflcm/{v}/vnf_instances/{id}": {names: instance},

	"POST /vnflcm/{v}/vnf_instances/{id}/instantiate":        {names: instance, body: `{"flavourId":"simple"}`},
	"POST /vnflcm/{v}/vnf_instances/{id}/scale":              {names: instance, body: `{"type":"SCALE_OUT","aspectId":"workers"}`},
	"POST /vnflcm/{v}/vnf_instances/{id}/scale_to_level":     {names: instance, body: `{"scaleInfo":[{"aspectId":"workers","scaleLevel":1}]}`},
	"POST /vnflcm/{v}/vnf_instances/{id}/heal":               {names: instance, body: `{}`},
	"POST /vnflcm/{v}/vnf_instances/{id}/terminate":          {names: instance, body: `{"terminationType":"FORCEFUL"}`},
	"POST /vnflcm/{v}/vnf_instances/{id}/change_ext_conn":    {names: instance, body: `{"extVirtualLinks":[]}`},
	"POST /vnflcm/{v}/vnf_instances/{id}/change_flavour":     {names: instance},
	"POST /vnflcm/{v}/vnf_instances/{id}/operate":            {names: instance},
	"POST /vnflcm/{v}/vnf_instances/{id}/change_vnfpkg":      {names: instance, body: `{"vnfdId":"other"}`},
	"POST /vnflcm/{v}/vnf_instances/{id}/create_snapshot":    {names: instance, body: `{"vnfSnapshotInfoId":"s"}`},
	"POST /vnflcm/{v}/vnf_instances/{id}/revert_to_snapshot": {names: instance, body: `{"vnfSnapshotInfoId":"s"}`},

	"GET /vnflcm/{v}/vnf_lcm_op_occs":                {names: list},
	"GET /vnflcm/{v}/vnf_lcm_op_occs/{id}":           {names: operation},
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/retry":    {names: operation},
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/rollback": {names: operation},
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/fail":     {names: operation},
	"POST /vnflcm/{v}/vnf_lcm_op_occs/{id}/cancel":   {names: operation, body: `{"cancelMode":"FORCEFUL"}`},

	"POST /vnflcm/{v}/subscriptions":        {names: creation},
	"GET /vnflcm/{v}/subscriptions":         {names: list},
	"GET /vnflcm/{v}/subscriptions/{id}":    {names: subscription},
	"DELETE /vnflcm/{v}/subscriptions/{id}": {names: subscription},

	"PATCH /preview/v1/vnf_instances/{id}":                       {names: instance, body: `{"vnfConfigurableProperties":{"a":1}}`},
	"POST /preview/v1/vnf_instances/{id}/instantiate":            {names: instance, body: `{"flavourId":"simple"}`},
	"POST /preview/v1/vnf_instances/{id}/scale":                  {names: instance, body: `{"type":"SCALE_OUT","aspectId":"workers"}`},
	"POST /preview/v1/vnf_instances/{id}/scale_to_level":         {names: instance, body: `{"scaleInfo":[{"aspectId":"workers","scaleLevel":1}]}`},
	"POST /preview/v1/vnf_instances/{id}/heal":                   {names: instance, body: `{}`},
	"POST /preview/v1/vnf_instances/{id}/terminate":              {names: instance, body: `{"terminationType":"FORCEFUL"}`},
	"POST /preview/v1/vnf_instances/{id}/operate":                {names: instance, body: `{"changeStateTo":"STOPPED"}`},
	"POST /preview/v1/vnf_instances/{id}/change_vnfpkg":          {names: instance, body: `{"vnfdId":"other"}`},
	"POST /preview/v1/vnf_instances/{id}/renew_certificates":     {names: instance, body: `{}`},
	"POST /preview/v1/vnf_instances/{id}/upgrade":                {names: instance, body: `{}`},
	"GET /progress/v1/vnf_lcm_op_occs/{id}":                      {names: operation},
	"POST /maintenance/v1/vnf_instances/{id}/renew_certificates": {names: instance, body: `{}`},
	"POST /maintenance/v1/vnf_instances/{id}/upgrade":            {names: instance, body: `{}`},
	"GET /maintenance/v1/vnf_instances/{id}/certificates":        {names: instance},

	"POST /vnflcm/{v}/vnf_snapshots":                             {names: creation},
	"GET /vnflcm/{v}/vnf_snapshots":                              {names: list},
	"GET /vnflcm/{v}/vnf_snapshots/{id}":                         {names: snapshot},
	"DELETE /vnflcm/{v}/vnf_snapshots/{id}":                      {names: snapshot},
	"POST /maintenance/v1/vnf_snapshots":                         {names: creation},
	"GET /maintenance/v1/vnf_snapshots":                          {names: list},
	"GET /maintenance/v1/vnf_snapshots/{id}":                     {names: snapshot},
	"DELETE /maintenance/v1/vnf_snapshots/{id}":                  {names: snapshot},
	"POST /maintenance/v1/vnf_instances/{id}/create_snapshot":    {names: instance, body: `{"vnfSnapshotInfoId":"s"}`},
	"POST /preview/v1/vnf_instances/{id}/create_snapshot":        {names: instance, body: `{"vnfSnapshotInfoId":"s"}`},
	"POST /maintenance/v1/vnf_instances/{id}/revert_to_snapshot": {names: instance, body: `{"vnfSnapshotInfoId":"s"}`},
	"POST /preview/v1/vnf_instances/{id}/revert_to_snapshot":     {names: instance, body: `{"vnfSnapshotInfoId":"s"}`},

	"POST /v1.0/vims":                                    {names: creation},
	"POST /v1.0/vims.json":                               {names: creation},
	"GET /v1.0/vims":                                     {names: vims},
	"GET /v1.0/vims.json":                                {names: vims},
	"GET /v1.0/vims/{id}":                                {names: vim},
	"PUT /v1.0/vims/{id}":                                {names: vim, body: `{"vim":{"name":"stolen","auth_cred":{"password":"p"},"is_default":true}}`},
	"DELETE /v1.0/vims/{id}":                             {names: vim},
	"GET /vnfpkgm/api_versions":                          {names: common},
	"GET /vnfpkgm/{v}/api_versions":                      {names: common},
	"POST /vnfpkgm/{v}/vnf_packages":                     {names: creation},
	"GET /vnfpkgm/{v}/vnf_packages":                      {names: list},
	"GET /vnfpkgm/{v}/vnf_packages/{id}":                 {names: pack},
	"PATCH /vnfpkgm/{v}/vnf_packages/{id}":               {names: pack, body: `{"operationalState":"DISABLED"}`},
	"DELETE /vnfpkgm/{v}/vnf_packages/{id}":              {names: pack},
	"PUT /vnfpkgm/{v}/vnf_packages/{id}/package_content": {names: pack, body: "a package"},
	"POST /vnfpkgm/{v}/subscriptions":                    {names: creation},
	"GET /vnfpkgm/{v}/subscriptions":                     {names: list},
	"GET /vnfpkgm/{v}/subscriptions/{id}":                {names: subscription},
	"DELETE /vnfpkgm/{v}/subscriptions/{id}":             {names: subscription},

	"POST /vnfpkgm/{v}/vnf_packages/{id}/package_content/upload_from_uri":  {names: pack, body: `{"addressInformation":"https://example.com/"}`},
	"GET /vnfpkgm/{v}/vnf_packages/{id}/package_content":                   {names: pack},
	"GET /vnfpkgm/{v}/vnf_packages/{id}/vnfd":                              {names: pack},
	"GET /vnfpkgm/{v}/vnf_packages/{id}/manifest":                          {names: pack},
	"GET /vnfpkgm/{v}/vnf_packages/{id}/artifacts":                         {names: pack},
	"GET /vnfpkgm/{v}/vnf_packages/{id}/artifacts/{path...}":               {names: pack},
	"GET /vnfpkgm/{v}/onboarded_vnf_packages":                              {names: list},
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}":                     {names: vnfd},
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/package_content":     {names: vnfd},
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/vnfd":                {names: vnfd},
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/manifest":            {names: vnfd},
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/artifacts":           {names: vnfd},
	"GET /vnfpkgm/{v}/onboarded_vnf_packages/{vnfdId}/artifacts/{path...}": {names: vnfd},
}

// own are the resources of one tenant.
type own struct {
	tenant                string
	instances, operations []string // ids; the last operation is in FAILED_TEMP
	subscriptions         []string
	snapshots             []string // resources without a snapshot
	packages              []string // first a package in the state ONBOARDED, then one in CREATED
	vim, vnfd             string
	packed                string // the id of the VNFD of the first package
	notifications         *subscriber
	documents             map[string]string // the document at each URI
}

// tenants is a VNFM with two tenants.
type tenants struct {
	*vnfm
	options sol003.Options
	reads   *readCounter
	a, b    *own
}

// rowsOf returns the row of each route in a table that has one row for both versions. It fails the test if a route has no row.
func rowsOf[R any](t *testing.T, o sol003.Options, table map[string]R) map[string]R {
	t.Helper()
	rows, used := map[string]R{}, map[string]bool{}
	for _, r := range sol003.Routes(o) {
		name := r
		for _, api := range versions {
			name = strings.Replace(name, "/vnflcm/"+api+"/", "/vnflcm/{v}/", 1)
			name = strings.Replace(name, "/vnfpkgm/"+api+"/", "/vnfpkgm/{v}/", 1)
		}
		used[name] = true
		row, exists := table[name]
		if !exists {
			t.Errorf("%s has no row in the table: add one", r)
			continue
		}
		rows[r] = row
	}
	for name := range table {
		if !used[name] {
			t.Errorf("%s is in the table and does not exist", name)
		}
	}
	return rows
}

// readCounter is a Store that records the reads of records that requests refer to.
type readCounter struct {
	store.Store
	mu   sync.Mutex
	read []string // kinds
}

func (s *readCounter) Get(ctx context.Context, kind, id string) (store.Record, error) {
	if slices.Contains([]string{"instance", "operation", "vim", "vim-default", "vim-notes", "vim-removed", "document", "snapshot"}, kind) {
		s.mu.Lock()
		s.read = append(s.read, kind)
		s.mu.Unlock()
	}
	return s.Store.Get(ctx, kind, id)
}

// take returns the kinds of the records that were read since the last call.
func (s *readCounter) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := s.read
	s.read = nil
	return read
}

// newTenants starts a VNFM for two tenants. If sends is set, it sends notifications, and reads further records for them.
func newTenants(t *testing.T, sends bool) *tenants {
	t.Helper()
	x := &tenants{reads: &readCounter{Store: store.NewMemory()}}
	dir := t.TempDir()
	packages, err := onboarding.New(filepath.Join(dir, "onboarded"), onboarding.Options{Further: vnflcm.DirPackages(filepath.Join(dir, "folders")), MinFree: 1})
	must(t, err)
	archives, err := snapshots.New(snapshots.Directory(filepath.Join(dir, "snapshots")))
	must(t, err)
	x.vnfm = newVNFMWith(t, func(c *vnflcm.Config) { c.Store, c.Packages, c.Snapshots = x.reads, packages, archives }, sol003.Options{PageSize: 1, Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant"), Role: sol003.Role(r.Header.Get("X-Role"))}, nil
	}}, func(m *vnflcm.Manager, o *sol003.Options) sol003.Manager {
		n := notify.New(m, notify.Options{Allow: outbound.AllowAny})
		o.VIMs = m.VIMRegistry()
		o.Packages = packages
		if o.Subscriptions = n; sends {
			send(t, n)
		}
		x.options = *o
		return m
	})
	must(t, os.CopyFS(filepath.Join(dir, "folders", "toy"), toyPackage))
	x.packages = packages
	stop := x.runPackages()
	defer stop()
	x.a, x.b = &own{tenant: "tenant-a"}, &own{tenant: "tenant-b"}
	for _, o := range []*own{x.a, x.b} {
		o.vnfd = "00000000-0000-4000-8000-00000000000" + o.tenant[len(o.tenant)-1:]
		files := fstest.MapFS{}
		for name, file := range toyPackage {
			files[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(file.Data), toyVNFD, o.vnfd))}
		}
		must(t, os.CopyFS(filepath.Join(dir, "folders", "tenants", o.tenant, "toy"), files))
		o.notifications = newSubscriber(t, nil)
		x.fill(o)
	}
	for _, o := range []*own{x.a, x.b} {
		o.documents = x.read(o)
	}
	return x
}

// fill creates the resources of a tenant.
func (x *tenants) fill(o *own) {
	x.t.Helper()
	as := []string{"X-Tenant", o.tenant}
	id := func(location string) string { return location[strings.LastIndex(location, "/")+1:] }
	for _, path := range []string{"/one", "/two"} {
		s := x.send("POST", "/vnflcm/v1/subscriptions", `{"callbackUri":"`+o.notifications.URL+path+`"}`, 201, as...)
		o.subscriptions = append(o.subscriptions, id(s.Header.Get("Location")))
	}
	s := x.send("POST", "/vnfpkgm/v1/subscriptions", `{"callbackUri":"`+o.notifications.URL+`/packages"}`, 201, as...)
	o.subscriptions = append(o.subscriptions, id(s.Header.Get("Location")))
	o.vim = "10000000-0000-4000-8000-00000000000" + o.tenant[len(o.tenant)-1:]
	must(x.t, x.VIMs().Put(x.t.Context(), vnflcm.VimConnectionInfo{VimID: o.vim, VimType: "toy", Tenant: o.tenant}))
	o.packed = "20000000-0000-4000-8000-00000000000" + o.tenant[len(o.tenant)-1:]
	for _, content := range [][]byte{csarOf(x.t, o.packed), nil} {
		uri := x.newPackage(as...)
		if o.packages = append(o.packages, id(uri)); content != nil {
			x.upload(uri, content, "ONBOARDED", as...)
		}
	}
	for range 2 {
		o.snapshots = append(o.snapshots, id(x.send("POST", "/vnflcm/v2/vnf_snapshots", "{}", 201, as...).Header.Get("Location")))
	}
	for _, state := range []vnflcm.OperationState{"", vnflcm.Completed, vnflcm.FailedTemp} {
		instance := x.send("POST", "/vnflcm/v2/vnf_instances", `{"vnfdId":"`+o.vnfd+`","vnfInstanceName":"of `+o.tenant+`"}`, 201, as...).Header.Get("Location")
		o.instances = append(o.instances, id(instance))
		if state == "" {
			continue
		}
		if state == vnflcm.FailedTemp {
			x.cloud.setFault(vnflcm.OpInstantiate, errors.New("no capacity for "+o.tenant))
		}
		started := x.send("POST", instance+"/instantiate", `{"flavourId":"simple","vimConnectionInfo":[{"vimId":"`+o.vim+`"}]}`, 202, as...).Header.Get("Location")
		x.await(started, state) // reads as the operator
		x.cloud.setFault(vnflcm.OpInstantiate, nil)
		o.operations = append(o.operations, id(started))
	}
}

// read returns the documents of a tenant.
func (x *tenants) read(o *own) map[string]string {
	x.t.Helper()
	out := map[string]string{}
	for kind, ids := range map[string][]string{"vnflcm/v2/vnf_instances": o.instances, "vnflcm/v2/vnf_lcm_op_occs": o.operations, "vnflcm/v2/subscriptions": o.subscriptions[:2], "vnfpkgm/v2/subscriptions": o.subscriptions[2:], "vnfpkgm/v1/vnf_packages": o.packages,
		"vnflcm/v2/vnf_snapshots": o.snapshots} {
		for _, id := range ids {
			uri := "/" + kind + "/" + id
			out[uri] = x.send("GET", uri, "", 200, "X-Tenant", o.tenant).body
		}
	}
	uri := "/v1.0/vims/" + o.vim
	out[uri] = x.send("GET", uri, "", 200, "X-Tenant", o.tenant).body
	return out
}

// secrets returns the texts that only the tenant may see.
func (o *own) secrets() []string {
	return slices.Concat(o.instances, o.operations, o.subscriptions, o.packages, o.snapshots, []string{o.tenant, o.vim, o.vnfd, o.packed, o.notifications.URL})
}

// as sends a request of a tenant and returns its whole answer, without the date.
func (x *tenants) as(tenant, method, uri, body string, header http.Header) string {
	x.t.Helper()
	r, err := http.NewRequestWithContext(x.t.Context(), method, x.http.URL+uri, strings.NewReader(body))
	must(x.t, err)
	r.Header = header.Clone()
	r.Header.Set("X-Tenant", tenant)
	response, err := x.http.Client().Do(r)
	must(x.t, err)
	answer, err := io.ReadAll(response.Body)
	must(x.t, errors.Join(err, response.Body.Close()))
	response.Header.Del("Date")
	return fmt.Sprint(response.Status, " ", response.Header, " ", string(answer))
}

// headers returns the headers with which the tests repeat each request.
func headers() []http.Header {
	return []http.Header{
		{"Content-Type": {"application/json"}}, {"Content-Type": {"application/json"}, "If-Match": {"*"}}, {"Content-Type": {"application/json"}, "If-Match": {`"v2-1"`}},
		{"Content-Type": {"application/json"}, "If-None-Match": {"*"}}, {"Content-Type": {"text/plain"}}, {"Content-Type": {"application/zip"}}, {"Content-Type": {"application/json"}, "Range": {"bytes=0-1"}}, {"Content-Type": {"application/json"}, "Accept": {"text/plain"}},
		{"Content-Type": {"application/json"}, "Version": {"2.0.0"}},
	}
}

// TestIsolation sends requests of two tenants to every route with ids of the other tenant. The answer must equal the answer for an unknown
// id byte for byte, and must take the same number of reads of records.
func TestIsolation(t *testing.T) {
	t.Parallel()
	x := newTenants(t, false)
	for r, row := range rowsOf(t, x.options, isolation) {
		method, pattern, _ := strings.Cut(r, " ")
		for _, c := range [][2]*own{{x.a, x.b}, {x.b, x.a}} {
			who, other := c[0], c[1]
			switch row.names {
			case common:
				x.wantNothingOf(other, r, x.as(who.tenant, method, pattern, "", http.Header{}))
			case list:
				x.wantNoItems(who, other, pattern)
			case vims:
				x.wantNoVIMs(who, other, pattern)
			case instance, operation, subscription, pack, vnfd, vim, snapshot:
				x.wantUnknown(who, other, method, pattern, row.names, row.body)
			case creation: // TestIsolationInBodies checks bodies
			}
		}
	}
	for _, o := range []*own{x.a, x.b} {
		if diff := cmp.Diff(o.documents, x.read(o)); diff != "" {
			t.Errorf("resources of %s have changed:\n%s", o.tenant, diff)
		}
	}
}

func (x *tenants) wantNothingOf(other *own, what, answer string) {
	x.t.Helper()
	for _, secret := range other.secrets() {
		if strings.Contains(answer, secret) {
			x.t.Errorf("%s shows %s of %s:\n%s", what, secret, other.tenant, answer)
		}
	}
}

// wantUnknown compares the answers for an id of the other tenant with the answers for an unknown id.
func (x *tenants) wantUnknown(who, other *own, method, pattern string, names foreign, body string) {
	x.t.Helper()
	const unknown = "00000000-0000-4000-8000-ffffffffffff"
	ids := map[foreign][]string{instance: other.instances, operation: other.operations, subscription: other.subscriptions, pack: other.packages, vnfd: {other.packed}, vim: {other.vim}, snapshot: other.snapshots}[names]
	pattern = strings.NewReplacer("{vnfdId}", "{id}", "{path...}", "Files/license.txt").Replace(pattern)
	for _, header := range headers() {
		for _, sent := range []string{body, "", "{", "{}", `{"vimConnectionInfo":[{"vimId":"` + other.vim + `"}],"unknown":1}`} {
			var answers []string
			for _, id := range append([]string{unknown}, ids...) {
				x.reads.take()
				answer := x.as(who.tenant, method, strings.Replace(pattern, "{id}", id, 1), sent, header)
				answers = append(answers, strings.ReplaceAll(answer, id, "{id}")+fmt.Sprint(" reads ", x.reads.take()))
			}
			for i, answer := range answers[1:] {
				if answer != answers[0] || strings.HasPrefix(answer, "2") || strings.HasPrefix(answer, "3") {
					x.t.Errorf("%s sends %s %s of %s with %v %q:\n%s\nan unknown id:\n%s", who.tenant, method, pattern, ids[i], header, sent, answer, answers[0])
				}
			}
		}
	}
}

// wantNoVIMs reads the list with every filter.
func (x *tenants) wantNoVIMs(who, other *own, uri string) {
	x.t.Helper()
	for _, query := range []string{"", "?id=" + other.vim, "?name=" + other.vim, "?tenant_id=" + other.tenant, "?type=toy&fields=id&fields=auth_url", "?is_default=False", "?id=" + other.vim + "&id=" + who.vim} {
		answer := x.as(who.tenant, "GET", uri+query, "", http.Header{})
		if !strings.HasPrefix(answer, "200") {
			x.t.Errorf("GET %s: %s", uri+query, answer)
		}
		x.wantNothingOf(other, "GET "+uri+query, answer)
	}
}

// wantNoItems reads a list with all parameters, also with the marker of the other tenant.
func (x *tenants) wantNoItems(who, other *own, uri string) {
	x.t.Helper()
	queries := []string{"", "?all_fields", "?filter=(eq,id," + other.instances[0] + ")", "?filter=(in,id," + strings.Join(other.secrets(), ",") + ")"}
	if strings.HasSuffix(uri, "vnf_lcm_op_occs") {
		queries = append(queries, "?filter=(eq,vnfInstanceId,"+other.instances[1]+")", "?filter=(eq,operationState,FAILED_TEMP)")
	}
	link := func(a answer) string {
		next, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
		return next
	}
	if theirs := link(x.send("GET", uri, "", 200, "X-Tenant", other.tenant)); theirs != "" {
		queries = append(queries, strings.TrimPrefix(theirs, x.http.URL+uri))
	}
	for _, query := range queries {
		seen := 0
		for next := uri + query; next != ""; seen++ {
			page := x.send("GET", next, "", 200, "X-Tenant", who.tenant)
			// The URI of the next page repeats the parameters of the request, which may contain texts of the other tenant.
			x.wantNothingOf(other, "GET "+next, page.body)
			if query == "" {
				x.wantNothingOf(other, "GET "+next, fmt.Sprint(page.Header))
			}
			if next = link(page); seen > 100 {
				x.t.Fatalf("%s has no end", uri)
			}
		}
	}
}

// TestIsolationInBodies sends bodies that refer to resources of another tenant.
func TestIsolationInBodies(t *testing.T) {
	t.Parallel()
	x := newTenants(t, false)
	mine := "/vnf_instances/" + x.b.instances[0]
	running := "/vnf_instances/" + x.b.instances[1]
	connections := func(entry string) []string {
		return []string{`"vimConnectionInfo":[` + entry + `]`, `"vimConnectionInfo":{"c":` + entry + `}`, `"vimConnectionInfo":[{"id":"1","vimId":"vim1"},` + strings.Replace(entry, "{", `{"id":"2",`, 1) + `]`}
	}
	for _, entry := range []string{`{"vimId":"FOREIGN"}`, `{"vimId":"FOREIGN","vimType":"toy"}`, `{"vimId":"FOREIGN","accessInfo":{"region":"r"}}`, `{"vimId":"FOREIGN","accessInfo":{"password":"p"}}`,
		`{"vimId":"FOREIGN","interfaceInfo":{"endpoint":"https://x"}}`, `{"vimId":"FOREIGN","vimType":"other","accessInfo":{"password":"p"}}`} {
		for _, given := range connections(entry) {
			for uri, body := range map[string]string{
				"/preview/v1" + mine + "/instantiate":               `{"flavourId":"simple",` + given + `}`,
				"/vnflcm/v1" + mine + "/instantiate":                `{"flavourId":"none",` + given + `}`,
				"/vnflcm/v2" + mine + "/instantiate":                `{"flavourId":"none",` + given + `}`,
				"/vnflcm/v2" + running + "/change_ext_conn":         `{"extVirtualLinks":[{"id":"l","resourceId":"n","extCps":[{"cpdId":"none"}]}],` + given + `}`,
				"PATCH /vnflcm/v1" + running:                        `{"vnfdId":"another",` + given + `}`,
				"PATCH /vnflcm/v2" + mine:                           `{"vnfdId":"another",` + given + `}`,
				"/vnflcm/v2/vnf_instances":                          `{"vnfdId":"FOREIGN"}`,
				"/vnflcm/v2" + running + "/create_snapshot":         `{"vnfSnapshotInfoId":"FOREIGN"}`,
				"/maintenance/v1" + running + "/create_snapshot":    `{"vnfSnapshotInfoId":"FOREIGN"}`,
				"/vnflcm/v2" + running + "/revert_to_snapshot":      `{"vnfSnapshotInfoId":"FOREIGN"}`,
				"/preview/v1" + running + "/revert_to_snapshot":     `{"vnfSnapshotInfoId":"FOREIGN"}`,
				"/maintenance/v1" + running + "/renew_certificates": `{"additionalParams":{"vimId":"FOREIGN"}}`,
				"/maintenance/v1" + running + "/upgrade":            `{"additionalParams":{"vimId":"FOREIGN"}}`,
			} {
				method, path := http.MethodPost, uri
				if rest, is := strings.CutPrefix(uri, "PATCH "); is {
					method, path = http.MethodPatch, rest
				}
				foreign := []string{x.a.vim}
				if path == "/vnflcm/v2/vnf_instances" {
					foreign = []string{x.a.vnfd}
				}
				if strings.HasSuffix(path, "_snapshot") {
					foreign = []string{x.a.snapshots[0]}
				}
				var answers []string
				for _, id := range append([]string{"00000000-0000-4000-8000-ffffffffffff"}, foreign...) {
					x.reads.take()
					answer := x.as(x.b.tenant, method, path, strings.ReplaceAll(body, "FOREIGN", id), headers()[0])
					answers = append(answers, strings.ReplaceAll(answer, id, "FOREIGN")+fmt.Sprint(" reads ", x.reads.take()))
				}
				if answers[0] != answers[1] {
					t.Errorf("%s %s:\n%s\nan unknown id:\n%s", uri, body, answers[1], answers[0])
				}
			}
		}
	}
	if diff := cmp.Diff(x.b.documents, x.read(x.b)); diff != "" {
		t.Errorf("a request was accepted:\n%s", diff)
	}
}

// TestIsolationOfNotifications checks that a subscriber gets only notifications of its tenant, whatever its filter contains.
func TestIsolationOfNotifications(t *testing.T) {
	t.Parallel()
	x := newTenants(t, true)
	curious := newSubscriber(t, nil)
	for _, filter := range []string{`{}`, `{"vnfInstanceSubscriptionFilter":{"vnfInstanceIds":["` + x.a.instances[1] + `","` + x.b.instances[1] + `"]}}`,
		`{"vnfInstanceSubscriptionFilter":{"vnfdIds":["` + x.a.vnfd + `","` + x.b.vnfd + `"]}}`} {
		x.send("POST", "/vnflcm/v2/subscriptions", `{"callbackUri":"`+curious.URL+`","filter":`+filter+`}`, 201, "X-Tenant", x.b.tenant)
	}
	for _, o := range []*own{x.a, x.b} {
		healed := x.send("POST", "/vnflcm/v2/vnf_instances/"+o.instances[1]+"/heal", `{}`, 202, "X-Tenant", o.tenant).Header.Get("Location")
		x.await(healed, vnflcm.Completed)
	}
	for path, o := range map[string]*own{"": x.b, "/one": x.a, "/two": x.b} {
		from, n := o.notifications, 16
		if path == "" {
			from, n = curious, 9
		}
		for _, text := range from.told(t, n) {
			if text == "" {
				t.Error("a notification without a type")
			}
		}
		from.mu.Lock()
		for _, document := range from.got {
			other := x.a
			if o == x.a {
				other = x.b
			}
			x.wantNothingOf(other, "a notification", fmt.Sprint(document))
		}
		from.mu.Unlock()
	}
	// A tenant can create a subscription that equals a subscription of another tenant.
	again := x.send("POST", "/vnflcm/v1/subscriptions", `{"callbackUri":"`+x.a.notifications.URL+`/one"}`, 201, "X-Tenant", x.b.tenant)
	x.wantNothingOf(&own{tenant: x.a.tenant, notifications: curious, subscriptions: x.a.subscriptions, vim: x.a.vim, vnfd: x.a.vnfd, packed: x.a.packed}, "a subscription", again.body)
}

// TestMostSubscriptions checks that each tenant can have 100 subscriptions, whatever the number of other tenants' subscriptions is.
func TestMostSubscriptions(t *testing.T) {
	t.Parallel()
	nfvo := newSubscriber(t, nil)
	m, _, err := newManager(t.Context(), t.TempDir(), nil)
	must(t, err)
	t.Cleanup(func() { must(t, m.Close(context.Background())) })
	n := notify.New(m, notify.Options{Allow: outbound.AllowAny})
	subscribe := func(tenant string, i int) error {
		_, existed, err := n.Subscribe(t.Context(), sol003.Subscriber{API: "v2", Tenant: tenant}, sol003.SubscriptionRequest{CallbackURI: fmt.Sprintf("%s/%d", nfvo.URL, i)})
		if existed {
			t.Error("the subscription existed")
		}
		return err
	}
	for _, tenant := range []string{"a", "b"} {
		for i := range 100 {
			must(t, subscribe(tenant, i))
		}
		if err := subscribe(tenant, 100); !errors.Is(err, vnflcm.ErrState) || !strings.Contains(err.Error(), "there are 100 subscriptions") {
			t.Errorf("subscription 101: %v", err)
		}
	}
	must(t, subscribe("", 0))
	counts := map[string]int{}
	for _, tenant := range []string{"a", "b", "c", ""} {
		all, err := n.Subscriptions(t.Context(), tenant, "", 0)
		must(t, err)
		counts[tenant] = len(all)
	}
	if diff := cmp.Diff(map[string]int{"a": 100, "b": 100, "c": 0, "": 201}, counts); diff != "" {
		t.Error(diff)
	}
}
