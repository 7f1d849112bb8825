package nfvotest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Package is a VNF package of the NFVO: ONBOARDED and ENABLED unless it is Disabled.
type Package struct {
	ID, VnfdID string
	Disabled   bool
	Content    []byte
	Artifacts  map[string][]byte
	// Checksum is the attribute of that name. Default: the SHA-256 of Content. "" leaves it out.
	Checksum any
	// WithoutTag answers without an entity tag.
	WithoutTag bool
}

// Packages are the package management API of an NFVO, in both versions.
type Packages struct {
	*NFVO
	// Callbacks sends the requests to callback URIs. Default http.DefaultClient.
	Callbacks *http.Client

	guard         sync.Mutex
	packages      []Package
	subscriptions []subscription
	sent          int // answers with content
	made          int // subscriptions
}

type subscription struct {
	ID       string
	Callback string
	User     string
	Password string
}

// ServePackages adds the package management API.
func (n *NFVO) ServePackages() *Packages {
	x := &Packages{NFVO: n, Callbacks: http.DefaultClient}
	for _, version := range []string{"v1", "v2"} {
		root := "/vnfpkgm/" + version
		for pattern, handler := range map[string]http.HandlerFunc{
			"GET /vnf_packages": x.list, "GET /vnf_packages/{id}": x.show, "GET /vnf_packages/{id}/package_content": x.content,
			"GET /vnf_packages/{id}/artifacts/{path...}": x.artifact, "GET /onboarded_vnf_packages/{vnfd}": x.onboarded,
			"POST /subscriptions": x.subscribe, "GET /subscriptions/{id}": x.subscribed, "DELETE /subscriptions/{id}": x.unsubscribe,
		} {
			method, path, _ := strings.Cut(pattern, " ")
			if version == "v2" || !strings.HasPrefix(path, "/onboarded") {
				n.HandleFunc(method+" "+root+path, n.checkedPackages(handler))
			}
		}
	}
	return x
}

// Put adds a package, or replaces the one with the same id.
func (x *Packages) Put(p Package) {
	x.guard.Lock()
	defer x.guard.Unlock()
	x.packages = append(slices.DeleteFunc(x.packages, func(other Package) bool { return other.ID == p.ID }), p)
}

// Remove removes a package.
func (x *Packages) Remove(id string) {
	x.guard.Lock()
	defer x.guard.Unlock()
	x.packages = slices.DeleteFunc(x.packages, func(other Package) bool { return other.ID == id })
}

// Sent returns how many answers with content the NFVO has begun.
func (x *Packages) Sent() int {
	x.guard.Lock()
	defer x.guard.Unlock()
	return x.sent
}

// Subscriptions returns how many subscriptions there are.
func (x *Packages) Subscriptions() int {
	x.guard.Lock()
	defer x.guard.Unlock()
	return len(x.subscriptions)
}

// DropSubscriptions forgets all subscriptions.
func (x *Packages) DropSubscriptions() {
	x.guard.Lock()
	defer x.guard.Unlock()
	x.subscriptions = nil
}

func (x *Packages) find(is func(Package) bool) (Package, bool) {
	x.guard.Lock()
	defer x.guard.Unlock()
	at := slices.IndexFunc(x.packages, is)
	if at < 0 {
		return Package{}, false
	}
	return x.packages[at], true
}

// of calls a handler with the package of a request.
func (x *Packages) of(w http.ResponseWriter, r *http.Request, do func(Package)) {
	p, is := x.find(func(p Package) bool { return p.ID == r.PathValue("id") })
	if !is {
		problem(w, http.StatusNotFound, "Not Found", "there is no such package")
		return
	}
	do(p)
}

func link(href string) map[string]any { return map[string]any{"href": href} }

// info returns the VnfPkgInfo of a package.
func (x *Packages) info(p Package, root string) map[string]any {
	state := map[bool]string{true: "DISABLED", false: "ENABLED"}[p.Disabled]
	self := x.URL() + root + "/vnf_packages/" + p.ID
	out := map[string]any{"id": p.ID, "vnfdId": p.VnfdID, "vnfProvider": "vnfkit", "vnfProductName": "Small", "vnfSoftwareVersion": "1.0", "vnfdVersion": "1.0",
		"packageSecurityOption": "OPTION_1", "onboardingState": "ONBOARDED", "operationalState": state, "usageState": "NOT_IN_USE", "vnfmInfo": []any{"vnfkit"},
		"_links": map[string]any{"self": link(self), "vnfd": link(self + "/vnfd"), "packageContent": link(self + "/package_content")}}
	if p.Checksum != "" {
		if out["checksum"] = p.Checksum; p.Checksum == nil {
			out["checksum"] = SumOf(p.Content)
		}
	}
	var artifacts []any
	for path, content := range p.Artifacts {
		artifacts = append(artifacts, map[string]any{"artifactPath": path, "checksum": SumOf(content), "isEncrypted": false})
	}
	if artifacts != nil {
		out["additionalArtifacts"] = artifacts
	}
	return out
}

// SumOf returns the SHA-256 of content as a checksum (SOL013 v2.6.1 7.1.6).
func SumOf(content []byte) map[string]any {
	sum := sha256.Sum256(content)
	return map[string]any{"algorithm": "SHA-256", "hash": hex.EncodeToString(sum[:])}
}

// rootOf returns the root of the API that a request is for.
func rootOf(r *http.Request) string { return r.URL.Path[:len("/vnfpkgm/v1")] }

// list answers SOL003 v2.6.1 10.4.2.3.2 on pages of one package each. It knows the filter (eq,vnfdId,…).
func (x *Packages) list(w http.ResponseWriter, r *http.Request) {
	x.guard.Lock()
	defer x.guard.Unlock()
	vnfd, isFiltered := strings.CutPrefix(r.FormValue("filter"), "(eq,vnfdId,")
	vnfd = strings.ReplaceAll(strings.Trim(strings.TrimSuffix(vnfd, ")"), "'"), "''", "'")
	var found []Package
	for _, p := range x.packages {
		if !isFiltered || p.VnfdID == vnfd {
			found = append(found, p)
		}
	}
	at, _ := strconv.Atoi(r.FormValue("nextpage_opaque_marker")) // 0 for the first page
	if at+1 < len(found) {
		w.Header().Set("Link", fmt.Sprintf(`<%s%s/vnf_packages?nextpage_opaque_marker=%d>; rel="next"`, x.URL(), rootOf(r), at+1))
	}
	out := []any{}
	if at < len(found) {
		out = append(out, x.info(found[at], rootOf(r)))
	}
	answer(w, http.StatusOK, "application/json", out)
}

func (x *Packages) show(w http.ResponseWriter, r *http.Request) {
	x.of(w, r, func(p Package) { answer(w, http.StatusOK, "application/json", x.info(p, rootOf(r))) })
}

func (x *Packages) onboarded(w http.ResponseWriter, r *http.Request) {
	p, is := x.find(func(p Package) bool { return p.VnfdID == r.PathValue("vnfd") })
	if !is {
		problem(w, http.StatusNotFound, "Not Found", "there is no such package")
		return
	}
	answer(w, http.StatusOK, "application/json", x.info(p, rootOf(r)))
}

func (x *Packages) content(w http.ResponseWriter, r *http.Request) {
	x.of(w, r, func(p Package) { x.send(w, r, p.Content, "application/zip", p.WithoutTag) })
}

func (x *Packages) artifact(w http.ResponseWriter, r *http.Request) {
	x.of(w, r, func(p Package) {
		content, is := p.Artifacts[r.PathValue("path")]
		if !is {
			problem(w, http.StatusNotFound, "Not Found", "there is no such artifact")
			return
		}
		x.send(w, r, content, "application/octet-stream", false)
	})
}

// send answers with content, ranges and conditions.
func (x *Packages) send(w http.ResponseWriter, r *http.Request, content []byte, media string, withoutTag bool) {
	x.guard.Lock()
	x.sent++
	x.guard.Unlock()
	w.Header().Set("Content-Type", media)
	if !withoutTag {
		sum := sha256.Sum256(content)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// subscribe answers SOL003 v2.6.1 10.4.7.3.1: 303 for a callback URI that has a subscription.
func (x *Packages) subscribe(w http.ResponseWriter, r *http.Request) {
	var request struct {
		CallbackURI    string
		Authentication struct {
			AuthType    []string
			ParamsBasic struct{ UserName, Password string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		problem(w, http.StatusBadRequest, "Bad Request", err.Error())
		return
	}
	s := subscription{Callback: request.CallbackURI, User: request.Authentication.ParamsBasic.UserName, Password: request.Authentication.ParamsBasic.Password}
	if status := x.call(http.MethodGet, s, nil); status != http.StatusNoContent {
		problem(w, http.StatusUnprocessableEntity, "Unprocessable Entity", fmt.Sprintf("the callback URI answers %d to %s", status, s.Password))
		return
	}
	x.guard.Lock()
	defer x.guard.Unlock()
	for _, known := range x.subscriptions {
		if known.Callback == s.Callback {
			w.Header().Set("Location", x.URL()+rootOf(r)+"/subscriptions/"+known.ID)
			w.WriteHeader(http.StatusSeeOther)
			return
		}
	}
	x.made++
	s.ID = fmt.Sprintf("subscription-%d", x.made)
	x.subscriptions = append(x.subscriptions, s)
	w.Header().Set("Location", x.URL()+rootOf(r)+"/subscriptions/"+s.ID)
	answer(w, http.StatusCreated, "application/json", s.shown(x.URL()+rootOf(r)))
}

func (s subscription) shown(root string) map[string]any {
	return map[string]any{"id": s.ID, "callbackUri": s.Callback, "_links": map[string]any{"self": link(root + "/subscriptions/" + s.ID)}}
}

func (x *Packages) subscribed(w http.ResponseWriter, r *http.Request) {
	x.guard.Lock()
	defer x.guard.Unlock()
	for _, s := range x.subscriptions {
		if s.ID == r.PathValue("id") {
			answer(w, http.StatusOK, "application/json", s.shown(x.URL()+rootOf(r)))
			return
		}
	}
	problem(w, http.StatusNotFound, "Not Found", "there is no such subscription")
}

func (x *Packages) unsubscribe(w http.ResponseWriter, r *http.Request) {
	x.guard.Lock()
	defer x.guard.Unlock()
	x.subscriptions = slices.DeleteFunc(x.subscriptions, func(s subscription) bool { return s.ID == r.PathValue("id") })
	w.WriteHeader(http.StatusNoContent)
}

// call sends a request to the callback URI of a subscription and returns the status of the answer, 0 without one.
func (x *Packages) call(method string, s subscription, body []byte) int {
	request, err := http.NewRequest(method, s.Callback, bytes.NewReader(body)) //nolint:noctx // of a test
	if err != nil {
		return 0
	}
	request.SetBasicAuth(s.User, s.Password)
	request.Header.Set("Content-Type", "application/json")
	response, err := x.Callbacks.Do(request)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}

// Notify sends a notification of a package to every subscriber: an onboarding if change is "", else this changeType. It returns the
// statuses of the answers.
func (x *Packages) Notify(p Package, change string) (statuses []int) {
	x.guard.Lock()
	subscriptions := slices.Clone(x.subscriptions)
	x.guard.Unlock()
	for _, s := range subscriptions {
		root := x.URL() + "/vnfpkgm/v2"
		document := map[string]any{"id": fmt.Sprintf("notification of %s", p.ID), "notificationType": "VnfPackageOnboardingNotification", "subscriptionId": s.ID,
			"timeStamp": "2026-11-30T00:00:00Z", "vnfPkgId": p.ID, "vnfdId": p.VnfdID,
			"_links": map[string]any{"vnfPackage": link(root + "/vnf_packages/" + p.ID), "subscription": link(root + "/subscriptions/" + s.ID)}}
		if change != "" {
			document["notificationType"], document["changeType"] = "VnfPackageChangeNotification", change
		}
		if change == "OP_STATE_CHANGE" {
			document["operationalState"] = map[bool]string{true: "DISABLED", false: "ENABLED"}[p.Disabled]
		}
		body, _ := json.Marshal(document) // of texts
		x.checkNotification(body)
		statuses = append(statuses, x.call(http.MethodPost, s, body))
	}
	return statuses
}

// Callback returns the callback URI of the first subscription, "" without one.
func (x *Packages) Callback() string {
	x.guard.Lock()
	defer x.guard.Unlock()
	if len(x.subscriptions) == 0 {
		return ""
	}
	return x.subscriptions[0].Callback
}
