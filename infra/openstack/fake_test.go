package openstack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// fake simulates the parts of OpenStack that the driver uses, with the answers of Heat 19, Nova 26 and Neutron 21. Its stacks have the
// resources of the sample package: groups of masters and workers whose sizes come from the parameter nfv. An action on a stack ends after
// some requests for its state. Several drivers can use a fake one after the other.
type fake struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	stacks    map[string]*fakeStack
	images    fakeImages
	cut       cut // fault of the next upload
	serial    int
	polls     int            // requests for the state of a stack until an action ends
	requests  map[string]int // by method and pattern
	token     int
	logins    int
	failures  []failure      // failures of the following actions
	running   int            // requests for a server until it is off
	signalled int            // requests for the group of workers until the change that a signal has begun ends
	loose     bool           // members are listed as separate resources, workerNode-0 and so on
	quota     map[string]any // absolute limits of Nova; nil: Nova does not show them
	// console returns the console log of a server for each request. Default: no server has one.
	console func(server string) (status int, log string)
	rolled  int                    // members that Heat has changed because the definition of their group has changed
	broken  func(m *member) string // the reason for which the change of a member fails
	// fault replaces the answer to a request by a status, or cuts the connection: -1 before the request takes effect, -2
	// after it. 0 means no fault.
	fault func(r *http.Request) int
	// dead is set when the client has died: its requests have no effect.
	dead atomic.Bool
}

// failure is an action that fails, and the reason of the failed resource workerNode.
type failure struct{ action, reason string }

type fakeStack struct {
	Name, ID string
	tags     string
	params   map[string]any
	template any
	files    any
	status   string
	reason   string
	updated  int
	left     int    // requests until the action ends
	done     func() // changes the stack when the action ends
	groups   map[string][]*member
	events   []map[string]any
	nested   map[string]*nestedStack // by group
}

// nestedStack is the state of the stack of a group.
type nestedStack struct {
	updated int
	left    int // requests until the update ends
	failed  string
}

type member struct {
	name, stack, server, port, address string
	volume                             string // "" before the volume exists
	unhealthy, sick, worn              bool   // state of the member, of its server and of its volume
	floating                           bool   // has a floating address
	off                                bool   // the server is shut down
	def                                any    // definition in the stack of the group
	ahead                              any    // the same, if Heat could not change the server to it; nil otherwise
	rebuilt, resized                   int
	created                            time.Time
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, stacks: map[string]*fakeStack{}, images: fakeImages{}, requests: map[string]int{}, polls: 2}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|/(master|worker)_instance-\S*|m\d+`)

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	pattern := r.Method + " " + uuids.ReplaceAllString(r.URL.Path, "*")
	f.requests[pattern]++
	fault := 0
	if f.fault != nil {
		fault = f.fault(r)
	}
	switch {
	case fault > 0:
		w.WriteHeader(fault)
		return
	case fault == -1 || f.dead.Load() && fault != -2: // -2 is the request during which the client died
		panic(http.ErrAbortHandler)
	}
	if strings.HasPrefix(r.URL.Path, "/glance/") {
		if r.Header.Get("X-Auth-Token") != fmt.Sprint("token-", f.token) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		f.serveImages(w, r, fault)
		return
	}
	body := map[string]any{}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler) // the client disconnected while it sent the request
	}
	if r.URL.Path == "/v3/auth/tokens" {
		f.login(w)
		return
	}
	if r.URL.Path != "/nova/v2.1/" && r.Header.Get("X-Auth-Token") != fmt.Sprint("token-", f.token) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	status, answer := f.answer(r, body)
	if fault == -2 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

func (f *fake) login(w http.ResponseWriter) {
	f.logins++
	f.token++
	var catalog []any
	for service, path := range map[string]string{"orchestration": "/heat/v1/p", "compute": "/nova/v2.1", "network": "/neutron", "image": "/glance"} {
		catalog = append(catalog, map[string]any{"type": service, "name": service, "id": service, "endpoints": []any{map[string]any{
			"interface": "public", "region": "RegionOne", "region_id": "RegionOne", "id": service, "url": f.URL + path}}})
	}
	w.Header().Set("X-Subject-Token", fmt.Sprint("token-", f.token))
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{"catalog": catalog,
		"expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "project": map[string]any{"id": "p", "name": "nfv"}}})
}

func refusal(status int, text string) (int, any) {
	return status, map[string]any{"code": status, "title": http.StatusText(status), "error": map[string]any{"message": text}}
}

func (f *fake) answer(r *http.Request, body map[string]any) (int, any) {
	path := strings.Split(strings.Trim(strings.Replace(r.URL.Path, "/v1/p", "", 1), "/"), "/")
	switch {
	case path[0] == "nova":
		return f.nova(r, path[2:], body)
	case path[0] == "neutron":
		return f.neutron(r, path[len(path)-1])
	case len(path) == 2 && r.Method == http.MethodPost:
		return f.create(body)
	case len(path) == 2:
		return http.StatusOK, map[string]any{"stacks": f.list(r.URL.Query())}
	}
	name := path[2]
	s := f.stacks[name]
	for _, other := range f.stacks {
		if other.ID == name {
			s = other
		}
	}
	if s != nil && len(path) == 6 && path[4] == "resources" && r.Method == http.MethodGet {
		return f.attribute(s, path[5])
	}
	if s == nil && len(path) > 3 { // a nested stack
		return f.nested(r, path, body)
	}
	if s == nil || len(path) > 3 && path[3] != s.ID {
		return refusal(http.StatusNotFound, "The Stack ("+name+") could not be found.")
	}
	switch last := path[len(path)-1]; {
	case last == "resources":
		return http.StatusOK, map[string]any{"resources": f.resources(s)}
	case last == "events":
		return http.StatusOK, map[string]any{"events": f.events(s, r)}
	case last == "template":
		return http.StatusOK, s.template
	case last == "files":
		return http.StatusOK, s.files
	case last == "actions":
		return f.stop(s)
	case r.Method == http.MethodGet:
		return http.StatusOK, f.look(s)
	case r.Method == http.MethodPatch:
		return f.update(s, body)
	case r.Method == http.MethodDelete:
		f.begin(s, "DELETE", func() { delete(f.stacks, s.Name) })
		return http.StatusNoContent, nil
	}
	f.t.Errorf("the fake has no answer for %s %s", r.Method, r.URL.Path)
	return http.StatusNotImplemented, nil
}

// list returns the stacks with a tag, in the order of their names.
func (f *fake) list(query url.Values) (out []any) {
	limit, _ := strconv.Atoi(query.Get("limit"))
	passed := query.Get("marker") == ""
	for _, name := range slices.Sorted(maps.Keys(f.stacks)) {
		s := f.stacks[name]
		tags := strings.Split(s.tags, ",")
		if passed && slices.Contains(tags, query.Get("tags")) && len(out) < limit {
			out = append(out, map[string]any{"id": s.ID, "stack_name": s.Name, "stack_status": s.status, "tags": tags})
		}
		passed = passed || s.ID == query.Get("marker")
	}
	return out
}

func (f *fake) id() string {
	f.serial++
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", f.serial, f.serial)
}

func (f *fake) create(body map[string]any) (int, any) {
	name := body["stack_name"].(string)
	if f.stacks[name] != nil {
		return refusal(http.StatusConflict, "The Stack ("+name+") already exists.")
	}
	params, _ := body["parameters"].(map[string]any)
	tags, _ := body["tags"].(string)
	var template any
	if err := yaml.Unmarshal([]byte(body["template"].(string)), &template); err != nil {
		return refusal(http.StatusBadRequest, err.Error())
	}
	s := &fakeStack{Name: name, ID: f.id(), tags: tags, params: params, template: template, files: body["files"], groups: map[string][]*member{}, nested: map[string]*nestedStack{}}
	f.stacks[name] = s
	f.begin(s, "CREATE", func() { f.resize(s) })
	return http.StatusCreated, map[string]any{"stack": map[string]any{"id": s.ID}}
}

func (f *fake) update(s *fakeStack, body map[string]any) (int, any) {
	if strings.HasSuffix(s.status, "IN_PROGRESS") {
		return refusal(http.StatusConflict, "Stack "+s.Name+" already has an action ("+s.status+") in progress.")
	}
	for action, refused := range map[string]string{"SUSPEND_": "suspended", "DELETE_": "deleting"} { // heat.engine.service, _prepare_stack_updates
		if strings.HasPrefix(s.status, action) {
			return refusal(http.StatusBadRequest, "Updating a stack when it is "+refused+" is not supported.")
		}
	}
	for name, value := range body["parameters"].(map[string]any) {
		s.params[name] = value
	}
	before := map[string]any{}
	for _, group := range groupNames {
		before[group] = f.memberOf(s, group)
	}
	s.template = nil
	if err := yaml.Unmarshal([]byte(body["template"].(string)), &s.template); err != nil {
		return refusal(http.StatusBadRequest, err.Error())
	}
	maps.Copy(s.files.(map[string]any), body["files"].(map[string]any))
	declared := s.template.(map[string]any)["parameters"].(map[string]any)
	maps.DeleteFunc(s.params, func(name string, _ any) bool { return declared[name] == nil })
	s.tags, s.updated = body["tags"].(string), s.updated+1
	if f.signalled > 0 {
		f.failures, f.signalled = append(f.failures, failure{"UPDATE", "Stack UPDATE cancelled"}), 0
	}
	f.begin(s, "UPDATE", func() { f.roll(s, before); f.resize(s) })
	return http.StatusAccepted, nil
}

// begin starts an action that ends, with success or failure, after some requests for the stack.
func (f *fake) begin(s *fakeStack, action string, done func()) {
	s.status, s.left = action+"_IN_PROGRESS", f.polls
	f.event(s, s.Name, s.ID, s.status, "")
	s.done = func() {
		i := slices.IndexFunc(f.failures, func(x failure) bool { return x.action == action })
		if i >= 0 {
			reason := f.failures[i].reason
			f.failures = slices.Delete(f.failures, i, i+1)
			f.event(s, "workerNode", "none", action+"_FAILED", reason)
			f.end(s, "FAILED", "resources.worker_instance: "+reason)
			return
		}
		done()
		f.end(s, "COMPLETE", "completed")
	}
}

// stop ends the current action. Like Heat it does not end the action at once.
func (f *fake) stop(s *fakeStack) (int, any) {
	action, _, _ := strings.Cut(s.status, "_")
	s.left, s.done = 2, func() { f.end(s, "FAILED", "Stack "+action+" cancelled") }
	return http.StatusAccepted, nil
}

func (f *fake) end(s *fakeStack, how, reason string) {
	action, _, _ := strings.Cut(s.status, "_")
	s.status, s.reason, s.done = action+"_"+how, reason, nil
	f.event(s, s.Name, s.ID, s.status, reason)
}

func (f *fake) event(s *fakeStack, resource, physical, status, reason string) {
	s.events = append(s.events, map[string]any{"id": f.id(), "resource_name": resource, "resource_status": status,
		"resource_status_reason": reason, "physical_resource_id": physical, "event_time": "2026-01-01T00:00:00Z", "links": f.links(s.Name, s.ID, "")})
}

func (f *fake) links(stack, id, nested string) []any {
	out := []any{map[string]any{"rel": "stack", "href": f.URL + "/heat/stacks/" + stack + "/" + id}}
	if nested != "" {
		out = append(out, map[string]any{"rel": "nested", "href": f.URL + "/heat/stacks/" + nested})
	}
	return out
}

// look returns the stack in the form of Heat. Each call brings the current action closer to its end.
func (f *fake) look(s *fakeStack) any {
	if s.done != nil {
		if s.left--; s.left < 0 {
			s.done()
		}
	}
	params := map[string]string{}
	for name, value := range s.values() {
		if _, isText := value.(string); isText {
			params[name] = value.(string)
		} else {
			text, _ := json.Marshal(value)
			params[name] = string(text)
		}
		if s.declared(name)["hidden"] == true {
			params[name] = "******"
		}
	}
	updated := ""
	if s.updated > 0 {
		updated = fmt.Sprint(s.updated)
	}
	status := s.status
	if f.stacks[s.Name] != s {
		status = "DELETE_COMPLETE"
	}
	return map[string]any{"stack": map[string]any{"stack_name": s.Name, "id": s.ID, "stack_status": status, "stack_status_reason": s.reason,
		"tags": strings.Split(s.tags, ","), "parameters": params, "updated_time": updated}}
}

func (f *fake) events(s *fakeStack, r *http.Request) []map[string]any {
	q := r.URL.Query()
	list := slices.Clone(s.events)
	if at := slices.IndexFunc(list, func(e map[string]any) bool { return e["id"] == q.Get("marker") }); at >= 0 {
		list = list[at+1:]
	}
	if q.Get("sort_dir") == "desc" {
		slices.Reverse(list)
	}
	if q.Get("limit") == "1" && len(list) > 1 {
		list = list[:1]
	}
	return list
}

// resize changes the sizes of the groups to the values in the parameters. It removes failed members first, then the oldest, like
// heat.scaling.template. It replaces sick servers.
func (f *fake) resize(s *fakeStack) {
	for _, names := range [][2]string{{"masterNode", "master_instance"}, {"workerNode", "worker_instance"}} {
		vdu, group := names[0], names[1]
		if s.resource(group) == nil {
			f.makeIndividuals(s, vdu, group)
			continue
		}
		want := f.capacity(s, group)
		members := s.groups[group]
		slices.SortStableFunc(members, func(a, b *member) int {
			switch {
			case a.unhealthy && !b.unhealthy:
				return -1
			case b.unhealthy && !a.unhealthy:
				return 1
			}
			return a.created.Compare(b.created)
		})
		members = members[max(0, len(members)-want):]
		for len(members) < want {
			f.serial++
			members = append(members, &member{name: fmt.Sprint("m", f.serial), stack: f.id(), server: f.id(), port: f.id(), volume: f.id(),
				address: fmt.Sprintf("10.1.%d.%d", f.serial/250, f.serial%250+1), created: time.Unix(int64(f.serial), 0),
				floating: vdu == "workerNode", def: f.memberOf(s, group)})
		}
		for _, m := range members {
			if m.sick || m.unhealthy {
				m.server, m.sick, m.unhealthy = f.id(), false, false
			}
			if m.worn {
				m.volume, m.worn = f.id(), false
			}
		}
		s.groups[group] = members
	}
}

func (f *fake) resources(s *fakeStack) []any {
	var out []any
	add := func(name, kind, physical, status, stack, id, nested string, created time.Time) {
		out = append(out, map[string]any{"resource_name": name, "resource_type": kind, "physical_resource_id": physical,
			"resource_status": status, "creation_time": created.UTC().Format(time.RFC3339), "links": f.links(stack, id, nested)})
	}
	status := func(bad bool) string {
		if bad {
			return "CHECK_FAILED"
		}
		return "CREATE_COMPLETE"
	}
	for vdu, names := range map[string][2]string{"masterNode": {"master_instance", "masterNode_CP1"}, "workerNode": {"worker_instance", "workerNode_CP2"}} {
		group := names[0]
		if !f.loose && s.resource(group) != nil {
			add(group, "OS::Heat::AutoScalingGroup", group+s.ID, "CREATE_COMPLETE", s.Name, s.ID, group+"-"+s.Name+"/"+group+s.ID, time.Time{})
		}
		for i, m := range s.groups[group] {
			status := status
			if m.ahead != nil {
				status = func(bool) string { return "UPDATE_FAILED" }
			}
			nested := "nested-" + m.name
			switch {
			case s.resource(group) == nil:
				add(m.name, "member.yaml", m.stack, status(m.unhealthy), s.Name, s.ID, nested+"/"+m.stack, m.created)
			case f.loose:
				add(fmt.Sprint(vdu, "-", i), "member.yaml", m.stack, status(m.unhealthy), s.Name, s.ID, nested+"/"+m.stack, m.created)
			default:
				add(m.name, "member.yaml", m.stack, status(m.unhealthy), group+"-"+s.Name, group+s.ID, nested+"/"+m.stack, m.created)
			}
			add(vdu, "OS::Nova::Server", m.server, status(m.sick), nested, m.stack, "", m.created)
			add(names[1], "OS::Neutron::Port", m.port, "CREATE_COMPLETE", nested, m.stack, "", m.created)
			add("data", "OS::Cinder::Volume", m.volume, status(m.worn), nested, m.stack, "", m.created)
		}
	}
	return out
}

// nested answers requests for the nested stacks of groups and of their members.
func (f *fake) nested(r *http.Request, path []string, body map[string]any) (int, any) {
	group, of, _ := strings.Cut(path[2], "-")
	switch {
	case r.Method == http.MethodPatch && len(path) > 4:
		return f.mark(path, body)
	case f.stacks[of] == nil || path[3] != group+f.stacks[of].ID:
		return refusal(http.StatusNotFound, "The Stack ("+path[2]+") could not be found.")
	case r.Method == http.MethodPatch:
		return f.updateGroup(f.stacks[of], group, body)
	case path[len(path)-1] == "template":
		return http.StatusOK, f.groupTemplate(f.stacks[of], group)
	case path[len(path)-1] == "files":
		return http.StatusOK, f.stacks[of].files
	case path[len(path)-1] == "events":
		return http.StatusOK, map[string]any{"events": []any{}}
	}
	status := "CREATE_COMPLETE"
	if group == "worker_instance" && f.signalled > 0 {
		status = "UPDATE_IN_PROGRESS"
		f.signalled--
	}
	updated := ""
	if n := f.stacks[of].nested[group]; n != nil {
		updated, status = fmt.Sprint(n.updated), n.status(status)
	}
	return http.StatusOK, map[string]any{"stack": map[string]any{"stack_name": path[2], "id": path[3], "stack_status": status, "updated_time": updated}}
}

// mark marks a member of a group, its server or its volume.
func (f *fake) mark(path []string, body map[string]any) (int, any) {
	name := path[len(path)-1]
	for _, s := range f.stacks {
		for _, members := range s.groups {
			for _, m := range members {
				if m.name == name {
					m.unhealthy = body["mark_unhealthy"].(bool)
					return http.StatusOK, nil
				}
				if m.stack == path[3] && name == "data" {
					m.worn = body["mark_unhealthy"].(bool)
					return http.StatusOK, nil
				}
				if m.stack == path[3] {
					m.sick = body["mark_unhealthy"].(bool)
					return http.StatusOK, nil
				}
			}
		}
	}
	return refusal(http.StatusNotFound, "The Resource ("+name+") could not be found.")
}

func (f *fake) each(visit func(*member)) {
	for _, s := range f.stacks {
		for _, members := range s.groups {
			for _, m := range members {
				visit(m)
			}
		}
	}
}

func (f *fake) nova(r *http.Request, path []string, body map[string]any) (int, any) {
	if len(path) == 0 {
		return http.StatusOK, map[string]any{"version": map[string]any{"id": "v2.1", "status": "CURRENT", "version": "2.93", "min_version": "2.1"}}
	}
	if path[0] == "limits" {
		if f.quota == nil {
			return refusal(http.StatusNotFound, "The resource could not be found.")
		}
		return http.StatusOK, map[string]any{"limits": map[string]any{"absolute": f.quota}}
	}
	if _, asked := body["os-getConsoleOutput"]; asked && f.console != nil {
		status, log := f.console(path[1])
		if status != http.StatusOK {
			return refusal(status, log)
		}
		return status, map[string]any{"output": log}
	}
	_, stop := body["os-stop"]
	_, start := body["os-start"]
	status, answer := refusal(http.StatusNotFound, "Instance could not be found.")
	f.each(func(m *member) {
		switch {
		case m.server != path[1]:
		case r.Method == http.MethodPost && (stop || start) && (m.off == stop || m.off && f.running > 0):
			status, answer = refusal(http.StatusConflict, "Cannot do that while it is in this vm_state")
		case r.Method == http.MethodPost:
			m.off = stop
			status, answer = http.StatusAccepted, nil
		default:
			power, task := "ACTIVE", ""
			if m.off && f.running > 0 {
				f.running--
				task = "powering-off"
			} else if m.off {
				power = "SHUTOFF"
			}
			status, answer = http.StatusOK, map[string]any{"server": map[string]any{"id": m.server, "name": "host-" + m.name, "status": power, "OS-EXT-STS:task_state": task,
				"OS-EXT-AZ:availability_zone": "nova", "hostId": "hash-of-the-host"}}
		}
	})
	return status, answer
}

func (f *fake) neutron(r *http.Request, list string) (int, any) {
	out := []any{}
	q := r.URL.Query()
	f.each(func(m *member) {
		if list == "ports" && (slices.Contains(q["device_id"], m.server) || slices.Contains(q["id"], m.port)) {
			out = append(out, map[string]any{"id": m.port, "device_id": m.server, "mac_address": "fa:16:3e:00:00:01",
				"fixed_ips": []any{map[string]any{"ip_address": m.address}}})
		}
		if list == "floatingips" && slices.Contains(q["port_id"], m.port) && m.floating {
			out = append(out, map[string]any{"id": "f", "port_id": m.port, "floating_ip_address": "203.0.113.9"})
		}
	})
	return http.StatusOK, map[string]any{list: out}
}
