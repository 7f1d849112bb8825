package sol003

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Manager is the part of *vnflcm.Manager that the handler uses.
type Manager interface {
	Create(ctx context.Context, req vnflcm.CreateVnfRequest) (*vnflcm.VnfInstance, error)
	Get(ctx context.Context, instanceID string) (*vnflcm.VnfInstance, error)
	Instances(ctx context.Context, q vnflcm.InstanceQuery) (vnflcm.Page[*vnflcm.VnfInstance], error)
	Modify(ctx context.Context, instanceID string, req vnflcm.VnfInfoModificationRequest, ifMatch string) (string, error)
	Delete(ctx context.Context, instanceID, ifMatch string) error

	Instantiate(ctx context.Context, instanceID string, req vnflcm.InstantiateVnfRequest) (string, error)
	Scale(ctx context.Context, instanceID string, req vnflcm.ScaleVnfRequest) (string, error)
	ScaleToLevel(ctx context.Context, instanceID string, req vnflcm.ScaleVnfToLevelRequest) (string, error)
	Heal(ctx context.Context, instanceID string, req vnflcm.HealVnfRequest) (string, error)
	Terminate(ctx context.Context, instanceID string, req vnflcm.TerminateVnfRequest) (string, error)
	ChangeExtConn(ctx context.Context, instanceID string, req vnflcm.ChangeExtVnfConnectivityRequest) (string, error)
	Operate(ctx context.Context, instanceID string, req vnflcm.OperateVnfRequest) (string, error)
	ChangeVnfPkg(ctx context.Context, instanceID string, req vnflcm.ChangeCurrentVnfPkgRequest) (string, error)
	CreateSnapshotInfo(ctx context.Context, req vnflcm.CreateVnfSnapshotInfoRequest) (*vnflcm.VnfSnapshotInfo, error)
	CreateSnapshot(ctx context.Context, instanceID string, req vnflcm.CreateVnfSnapshotRequest) (string, error)
	RevertToSnapshot(ctx context.Context, instanceID string, req vnflcm.RevertToVnfSnapshotRequest) (string, error)
	Snapshot(ctx context.Context, id string) (*vnflcm.VnfSnapshotInfo, error)
	Snapshots(ctx context.Context, q vnflcm.SnapshotQuery) (vnflcm.Page[*vnflcm.VnfSnapshotInfo], error)
	DeleteSnapshot(ctx context.Context, id string) error
	Maintain(ctx context.Context, instanceID string, req vnflcm.MaintainVnfRequest) (string, error)
	CertificateStatus(ctx context.Context, instanceID string) (*vnflcm.CertificateStatus, error)
	Preview(ctx context.Context, instanceID string, request any) (*vnflcm.Preview, error)

	Operation(ctx context.Context, opID string) (*vnflcm.VnfLcmOpOcc, error)
	Progress(ctx context.Context, opID string) (*vnflcm.Progress, error)
	Operations(ctx context.Context, q vnflcm.OperationQuery) (vnflcm.Page[*vnflcm.VnfLcmOpOcc], error)
	Retry(ctx context.Context, opID string) error
	Rollback(ctx context.Context, opID string) error
	Fail(ctx context.Context, opID string) error
	Cancel(ctx context.Context, opID string, mode vnflcm.CancelMode) error
}

// Options configure a handler.
type Options struct {
	// Authorize identifies the sender of a request and decides whether the request is allowed. It sees every request before
	// anything else does. An error that is ErrForbidden is answered with 403, one that is ErrUnavailable with 503, every
	// other error with 401. The text of the error is neither sent nor logged: it may quote the credentials. The Principal
	// beside an error is what is known of the sender, for the audit record.
	// ClientCertificates and the packages bearer and keystone have ready ones.
	Authorize func(*http.Request) (Principal, error)
	// InsecureAllowAnyone serves every request of everyone who can reach the server. It is for tests and for programs that
	// listen on a loopback address. NewHandler refuses Options with neither Authorize nor InsecureAllowAnyone.
	InsecureAllowAnyone bool
	// Challenge is the WWW-Authenticate header of a 401. Default: Bearer.
	Challenge string

	// Subscriptions serves /subscriptions. Package notify implements it and also sends the notifications. nil: the VNFM
	// does not have the resource.
	Subscriptions Subscriptions
	// VIMs serves Tacker's registry of VIMs below /v1.0/vims. vnflcm.VIMRegistry implements it. nil: the VNFM does not have the
	// resource.
	VIMs VIMs

	// Packages serves /vnfpkgm: version 1 (SOL003 and SOL005 v2.6.1) to onboard, change and read VNF packages, version 2 (SOL003 v3.3.1)
	// to read them. *onboarding.Repository implements it. nil: the VNFM does not have the resources.
	Packages Packages
	// Stall bounds an upload or a download that stands still: it is cut when less than 64 KiB have moved within this time. It
	// takes the place of ReadTimeout and WriteTimeout of the http.Server. Default one minute.
	Stall time.Duration

	// APIRoot is the beginning of every URI in an answer, such as https://vnfm.example.com:9890. Set it if clients
	// reach the server through a proxy. Default: the scheme and the Host header of each request.
	APIRoot string
	// PageSize is how many items a list has at most before its next page. Default 100.
	PageSize int
	// MaxBody is the size of the largest request body that is read, in bytes. Default 1 MiB.
	MaxBody int64
	// Audit gets a record of every request that could change something (any method but GET and HEAD), and of every request that
	// is refused because of its sender, before the answer is sent. The request waits for it; it is called by several
	// goroutines. A record for which it returns an error is logged to Logger, at level Error; the request is answered as it
	// would be. AuditLog writes to a log. Default: no records.
	Audit func(context.Context, AuditRecord) error
	// Logger receives failures of the VNFM, and attributes of requests that have no effect, which the header Warning of
	// the answer names too. It never gets values of requests.
	Logger *slog.Logger
}

// NewHandler returns the VNF lifecycle management API of a Manager: below /vnflcm/v1 version 1 (SOL003 v2.6.1), below
// /vnflcm/v2 version 2 (SOL003 v3.3.1). Below /vnfpkgm it has the packages of Options.Packages, below /v1.0/vims Tacker's
// registry of VIMs (Options.VIMs). ETSI has no resource for what is below /preview/v1, what an operation would do, below
// /progress/v1, what an operation does and waits for, and below /maintenance/v1, tasks that maintain a VNF, when its certificates
// end, and snapshots for clients of version 1. Every error is answered with ProblemDetails (see WriteProblem).
//
// The handler limits the size of requests, but not their time, except for packages (Options.Stall): set ReadHeaderTimeout,
// ReadTimeout and IdleTimeout of the http.Server.
func NewHandler(m Manager, o Options) (http.Handler, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	h := &handler{Options: o, manager: m, mux: http.NewServeMux()}
	for _, r := range o.routes() {
		h.handle(r)
	}
	return h, nil
}

// complete returns the options with defaults.
func (o Options) complete() (Options, error) {
	if o.Authorize == nil && !o.InsecureAllowAnyone {
		return o, errors.New("sol003: Options needs Authorize, or InsecureAllowAnyone to serve everyone")
	}
	if o.Authorize == nil {
		o.Authorize = func(*http.Request) (Principal, error) { return Principal{}, nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Stall = cmp.Or(max(o.Stall, 0), time.Minute)
	o.Challenge, o.PageSize, o.MaxBody = cmp.Or(o.Challenge, "Bearer"), cmp.Or(max(o.PageSize, 0), 100), cmp.Or(max(o.MaxBody, 0), 1<<20)
	o.APIRoot = strings.TrimSuffix(o.APIRoot, "/")
	return o, nil
}

// route is a resource. Without methods the resource does not exist.
type route struct {
	pattern string
	api     *apiVersion // nil outside of the versions
	changes Role        // that methods other than GET and HEAD need
	methods methods
	// isContent: the resource is a file, and checks Accept itself.
	isContent bool
}

// check refuses a request whose sender lacks the role that its method needs.
func (r route) check(method string, who Principal) error {
	needed := r.changes
	if method == http.MethodGet || method == http.MethodHead {
		needed = RoleReader
	}
	if who.Role.Allows(needed) {
		return nil
	}
	return &statusError{status: http.StatusForbidden, detail: "this needs the role " + string(needed)}
}

// routes returns what the handler serves. The role is the one that changes need.
func (o Options) routes() []route {
	list := []route{{pattern: "/", changes: RoleOperator}, {pattern: "/vnflcm" + apiVersionsPath, changes: RoleOperator, methods: methods{http.MethodGet: (*call).apiVersions}}}
	add := func(prefix string, api *apiVersion, changes Role, served map[string]methods) {
		for pattern, m := range served {
			list = append(list, route{pattern: prefix + pattern, api: api, changes: changes, methods: m})
		}
	}
	for _, api := range []*apiVersion{version1, version2} {
		list = append(list, route{pattern: api.prefix() + "/", api: api, changes: RoleOperator})
		add(api.prefix(), api, RoleOperator, resources)
		if o.Subscriptions != nil {
			add(api.prefix(), api, RoleOperator, subscriptionResources)
		}
	}
	if o.Packages != nil {
		list = append(list, packageRoutes()...)
	}
	if o.Packages != nil && o.Subscriptions != nil {
		add(packages1.prefix(), packages1, RoleOperator, subscriptionResources)
		add(packages2.prefix(), packages2, RoleOperator, subscriptionResources)
	}
	add(version2.prefix(), version2, RoleOperator, snapshotResources)
	// A preview changes nothing. It needs the role of the operation because drivers ask the VIM that the body names.
	add(previewPrefix, nil, RoleOperator, previewResources)
	add(progressPrefix, nil, RoleOperator, progressResources)
	add(maintenancePrefix, nil, RoleOperator, maintenanceResources)
	add(maintenancePrefix, nil, RoleOperator, snapshotResources)
	if o.VIMs != nil {
		add(vimsPrefix, nil, RoleAdmin, vimResources)
	}
	return list
}

type handler struct {
	Options
	manager Manager
	mux     *http.ServeMux
}

// apiVersion is a version of an API.
type apiVersion struct {
	api           string // the first segment of its paths
	major, number string
	instance      func(*vnflcm.VnfInstance) ([]byte, error)
	operation     func(*vnflcm.VnfLcmOpOcc) ([]byte, error)
}

// The limits are those of OpenStack Tacker for the same documents.
var (
	version1 = &apiVersion{"vnflcm", "v1", "1.3.0", marshalInstanceV1, MarshalOperationV1}
	version2 = &apiVersion{"vnflcm", "v2", "2.0.0", MarshalInstanceV2, MarshalOperationV2}
	// Of packages.
	packages1 = &apiVersion{api: "vnfpkgm", major: "v1", number: "1.2.0"}
	packages2 = &apiVersion{api: "vnfpkgm", major: "v2", number: "2.1.0"}

	allVersions = []*apiVersion{version1, version2, packages1, packages2}
)

func (v *apiVersion) prefix() string { return "/" + v.api + "/" + v.major }

// methods maps the HTTP methods of a resource to their functions.
type methods map[string]func(*call) error

// allowed is the Allow header of a resource.
func (m methods) allowed() string {
	names := slices.Sorted(maps.Keys(m))
	if m[http.MethodGet] != nil {
		names = append(names, http.MethodHead)
	}
	return strings.Join(names, ", ")
}

const apiVersionsPath = "/api_versions"

// resources are the paths below the prefix of a version. Paths of the standard that are missing here do not exist.
var resources = map[string]methods{
	apiVersionsPath: {http.MethodGet: (*call).apiVersions},

	"/vnf_instances":                         {http.MethodPost: (*call).createInstance, http.MethodGet: (*call).listInstances},
	"/vnf_instances/{id}":                    {http.MethodGet: (*call).readInstance, http.MethodPatch: (*call).modifyInstance, http.MethodDelete: (*call).deleteInstance},
	"/vnf_instances/{id}/instantiate":        {http.MethodPost: begin(Manager.Instantiate)},
	"/vnf_instances/{id}/scale":              {http.MethodPost: begin(Manager.Scale)},
	"/vnf_instances/{id}/scale_to_level":     {http.MethodPost: begin(Manager.ScaleToLevel)},
	"/vnf_instances/{id}/heal":               {http.MethodPost: begin(Manager.Heal)},
	"/vnf_instances/{id}/terminate":          {http.MethodPost: begin(Manager.Terminate)},
	"/vnf_instances/{id}/change_ext_conn":    {http.MethodPost: begin(Manager.ChangeExtConn)},
	"/vnf_instances/{id}/operate":            {http.MethodPost: begin(Manager.Operate)},
	"/vnf_instances/{id}/change_vnfpkg":      {http.MethodPost: sinceVersion2(begin(Manager.ChangeVnfPkg))},
	"/vnf_instances/{id}/create_snapshot":    {http.MethodPost: sinceVersion2((*call).createSnapshot)},
	"/vnf_instances/{id}/revert_to_snapshot": {http.MethodPost: sinceVersion2(begin(Manager.RevertToSnapshot))},

	// SOL003 v2.6.1 answers 404 to a task that the VNF does not support, because its resource does not exist (as quoted for
	// rollback in 5.4.15.3.1). Other methods are 405, as for every task.
	"/vnf_instances/{id}/change_flavour": {http.MethodPost: (*call).notSupported},

	"/vnf_lcm_op_occs":               {http.MethodGet: (*call).listOperations},
	"/vnf_lcm_op_occs/{id}":          {http.MethodGet: (*call).readOperation},
	"/vnf_lcm_op_occs/{id}/retry":    {http.MethodPost: control(Manager.Retry)},
	"/vnf_lcm_op_occs/{id}/rollback": {http.MethodPost: control(Manager.Rollback)},
	"/vnf_lcm_op_occs/{id}/fail":     {http.MethodPost: (*call).failOperation},
	"/vnf_lcm_op_occs/{id}/cancel":   {http.MethodPost: (*call).cancelOperation},
}

// call is one request.
type call struct {
	*handler
	api *apiVersion // nil outside of the versions
	who Principal
	w   http.ResponseWriter
	r   *http.Request
}

// handle registers a resource.
func (h *handler) handle(served route) {
	h.mux.HandleFunc(served.pattern, func(w http.ResponseWriter, r *http.Request) {
		who, _ := r.Context().Value(principalKey{}).(Principal)
		if served.methods != nil {
			recordOf(w).Route = served.pattern
		}
		c := &call{handler: h, api: served.api, who: who, w: w, r: r}
		if err := c.serve(served); err != nil {
			h.fail(w, r, err)
		}
	})
}

// maxSender is the length of the longest name that is stored with an operation.
const maxSender = 512

// maxQuery is the length of the longest query that is read.
const maxQuery = 16 << 10

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, api := range allVersions {
		if strings.HasPrefix(r.URL.Path, api.prefix()+"/") {
			w.Header().Set("Version", api.number) // also of a 401
		}
	}
	h.admit(w, r, func(w http.ResponseWriter, r *http.Request, who Principal) error {
		switch {
		case len(r.URL.RawQuery) > maxQuery:
			return &statusError{status: http.StatusRequestURITooLong, detail: "the query of the URI is too long"}
		case r.URL.Path != path.Clean(r.URL.Path): // the mux would redirect
			return errNoResource
		}
		h.mux.ServeHTTP(w, r.WithContext(context.WithValue(vnflcm.WithSender(r.Context(), bounded.Text(who.Name, maxSender)), principalKey{}, who)))
		return nil
	})
}

// serve checks what holds for every resource, and answers the request. The role of the sender is checked before anything is
// looked up: the answer does not depend on what exists.
func (c *call) serve(served route) error {
	if err := c.checkVersion(); err != nil {
		return err
	}
	if served.methods == nil {
		return errNoResource
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	answer := served.methods[method]
	if answer == nil {
		return &statusError{status: http.StatusMethodNotAllowed, detail: "the resource has no such method", header: http.Header{"Allow": {served.methods.allowed()}}}
	}
	if err := served.check(method, c.who); err != nil {
		return err
	}
	// The answers to PATCH and DELETE are empty: Tacker's client accepts only application/merge-patch+json for a PATCH.
	if hasDocument := !served.isContent && method != http.MethodPatch && method != http.MethodDelete; hasDocument && !accepts(c.accept(), mediaJSON) {
		return &statusError{status: http.StatusNotAcceptable, detail: "documents are application/json"}
	}
	return answer(c)
}

// checkVersion compares the Version header with the version in the path. SOL013 v2.6.1 9.1 requires the header; a request
// without it gets the version of its path. Every version with the same first number is accepted: Tacker's client sends
// 1.3.0 and 2.0.0, other clients send the number of the edition that they were written for. Which versions there are can be
// asked with any header: Tacker's client asks version 1 with 2.0.0.
func (c *call) checkVersion() error {
	wanted := c.r.Header.Get("Version")
	major, _, _ := strings.Cut(wanted, ".")
	if c.api == nil || wanted == "" || "v"+major == c.api.major || c.r.URL.Path == c.api.prefix()+apiVersionsPath {
		return nil
	}
	return &statusError{status: http.StatusNotAcceptable, detail: "this is version " + c.api.number + " of the API, see " + c.api.prefix() + apiVersionsPath}
}

// apiVersions answers which versions there are (SOL013 v2.6.1 9.3).
func (c *call) apiVersions() error {
	type version struct {
		Version      string `json:"version"`
		IsDeprecated bool   `json:"isDeprecated"`
	}
	name, _, _ := strings.Cut(c.r.URL.Path[1:], "/")
	prefix := c.root() + "/" + name
	if c.api != nil {
		prefix = c.root() + c.api.prefix()
	}
	var versions []version
	for _, api := range allVersions {
		if api.api == name && (c.api == nil || c.api == api) {
			versions = append(versions, version{Version: api.number})
		}
	}
	return c.document(http.StatusOK, struct {
		URIPrefix   string    `json:"uriPrefix"`
		APIVersions []version `json:"apiVersions"`
	}{prefix, versions})
}

func (c *call) notSupported() error {
	return &statusError{status: http.StatusNotFound, detail: "this VNFM does not support the task " + path.Base(c.r.URL.Path)}
}

// root is the beginning of the URIs in the answer.
func (c *call) root() string {
	if c.APIRoot != "" {
		return c.APIRoot
	}
	host := c.r.Host
	if address, ok := c.r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && host == "" { // HTTP/1.0 does not require Host
		host = address.String()
	}
	if c.r.TLS != nil {
		return "https://" + host
	}
	return "http://" + host
}
