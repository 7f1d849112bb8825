package sol003

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

func marshalInstanceV1(instance *vnflcm.VnfInstance) ([]byte, error) { return json.Marshal(instance) }

func (c *call) instanceURI(id string) string {
	return c.root() + c.api.prefix() + "/vnf_instances/" + url.PathEscape(id)
}

// renderInstance returns a document with the links to the tasks that the state of the instance allows (SOL003 v2.6.1
// 5.5.2.2).
func (c *call) renderInstance(instance *vnflcm.VnfInstance) (object, error) {
	document, err := readObject(c.api.instance(instance))
	if err != nil {
		return nil, err
	}
	links := newLinks(c.instanceURI(instance.ID))
	links.addTasks(instance)
	document["_links"] = links.list
	return document, nil
}

// addTasks adds the links to the tasks that the instance takes.
func (l links) addTasks(instance *vnflcm.VnfInstance) {
	if instance.InstantiationState == vnflcm.NotInstantiated {
		l.add("instantiate", "instantiate")
		return
	}
	l.add("terminate", "terminate")
	l.add("operate", "operate")
	info := instance.InstantiatedVnfInfo
	if info != nil && info.VnfState == vnflcm.VnfStopped {
		return
	}
	l.add("heal", "heal")
	l.add("changeExtConn", "change_ext_conn")
	if info != nil && len(info.ScaleStatus) > 0 {
		l.add("scale", "scale")
		l.add("scaleToLevel", "scale_to_level")
	}
}

func (c *call) sendInstance(status int, instance *vnflcm.VnfInstance) error {
	document, err := c.renderInstance(instance)
	if err != nil {
		return err
	}
	c.setETag(instance.Version)
	return c.document(status, document)
}

// createInstance answers SOL003 v2.6.1 5.4.2.3.1.
func (c *call) createInstance() error {
	var req vnflcm.CreateVnfRequest
	if _, err := c.readBody(&req, mediaJSON); err != nil {
		return err
	}
	req.Tenant = c.who.Tenant
	instance, err := c.manager.Create(c.r.Context(), req)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", c.instanceURI(instance.ID))
	return c.sendInstance(http.StatusCreated, instance)
}

// listInstances answers SOL003 v2.6.1 5.4.2.3.2.
func (c *call) listInstances() error {
	query, err := c.listQuery(instanceAttributes)
	if err != nil {
		return err
	}
	q := vnflcm.InstanceQuery{After: query.after, Limit: c.PageSize}
	for _, state := range query.filter.take("instantiationState", 0) {
		q.States = append(q.States, vnflcm.InstantiationState(state))
	}
	if ids := query.filter.take("vnfdId", 1); ids != nil {
		q.VnfdID = ids[0]
	}
	list := newLister(query, c.renderInstance)
	q.Match = list.match(c.visibleInstances())
	page, err := c.manager.Instances(c.r.Context(), q)
	return list.answer(c, page, err)
}

// readInstance answers SOL003 v2.6.1 5.4.3.3.2.
func (c *call) readInstance() error {
	instance, err := c.ownInstance()
	if err != nil {
		return err
	}
	if c.notModified(instance.Version) {
		return nil
	}
	return c.sendInstance(http.StatusOK, instance)
}

// ownInstance returns the instance that the path names.
func (c *call) ownInstance() (*vnflcm.VnfInstance, error) {
	return c.instance(c.r.PathValue("id"))
}

// modifyInstance answers SOL003 v2.6.1 5.4.3.3.4.
func (c *call) modifyInstance() error {
	var req vnflcm.VnfInfoModificationRequest
	body, err := c.readBody(&req, mediaPatch, mediaJSON)
	if err != nil {
		return err
	}
	if err := removals(body, &req); err != nil {
		return err
	}
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	opID, err := c.manager.Modify(c.r.Context(), c.r.PathValue("id"), req, version)
	if err != nil {
		return err
	}
	return c.accepted(opID)
}

// removals reads from a merge patch what it removes (RFC 7396): attributes that are null. DecodeRequest takes null for
// absent.
func removals(body []byte, req *vnflcm.VnfInfoModificationRequest) error {
	var patch struct {
		Name        json.RawMessage `json:"vnfInstanceName"`
		Description json.RawMessage `json:"vnfInstanceDescription"`
		Connections json.RawMessage `json:"vimConnectionInfo"`
	}
	if err := json.Unmarshal(body, &patch); err != nil {
		return badRequest("the body is no object")
	}
	isNull := func(value json.RawMessage) bool { return string(value) == "null" }
	if isNull(patch.Name) {
		req.VnfInstanceName = new(string)
	}
	if isNull(patch.Description) {
		req.VnfInstanceDescription = new(string)
	}
	if !bytes.HasPrefix(patch.Connections, []byte("{")) {
		return nil
	}
	var byID map[string]json.RawMessage // as in version 2
	if err := json.Unmarshal(patch.Connections, &byID); err != nil {
		return badRequest("vimConnectionInfo is no object")
	}
	for id, value := range byID {
		if isNull(value) {
			req.VimConnectionInfoDeleteList = append(req.VimConnectionInfoDeleteList, id)
		}
	}
	return nil
}

// deleteInstance answers SOL003 v2.6.1 5.4.3.3.5.
func (c *call) deleteInstance() error {
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	if err := c.manager.Delete(c.r.Context(), c.r.PathValue("id"), version); err != nil {
		return err
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// begin returns the handler of a task of an instance, such as SOL003 v2.6.1 5.4.4.3.1.
func begin[R any](start func(Manager, context.Context, string, R) (string, error)) func(*call) error {
	return func(c *call) error {
		id := c.r.PathValue("id")
		if err := c.permit(id); err != nil {
			return err
		}
		var req R
		if _, err := c.readBody(&req, mediaJSON); err != nil {
			return err
		}
		opID, err := start(c.manager, c.r.Context(), id, req)
		if err != nil {
			return err
		}
		return c.accepted(opID)
	}
}

// sinceVersion2 returns the handler of a task that version 1 does not have.
func sinceVersion2(do func(*call) error) func(*call) error {
	return func(c *call) error {
		if c.api == version1 {
			return c.notSupported()
		}
		return do(c)
	}
}

// accepted answers a request that has become an operation. Outside of the versions, the Location of the occurrence is in version 2.
func (c *call) accepted(opID string) error {
	if c.api == nil {
		c.api = version2
	}
	recordOf(c.w).Operation = opID
	c.w.Header().Set("Location", c.operationURI(opID))
	c.w.WriteHeader(http.StatusAccepted)
	return nil
}

// links are the _links of a document.
type links struct {
	self string
	list map[string]link
}

type link struct {
	Href string `json:"href"`
}

func newLinks(self string) links { return links{self, map[string]link{"self": {self}}} }

// add adds the link to a task.
func (l links) add(name, task string) { l.list[name] = link{l.self + "/" + task} }

// readObject reads a document that was marshalled.
func readObject(text []byte, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	var document object
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	return document, numbers.Decode(&document)
}

// document sends a JSON document.
func (c *call) document(status int, document any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", mediaJSON)
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // an error means that the client has disconnected
	return nil
}

// etag is the entity tag of a document in this version of the API.
func (c *call) etag(version string) string { return fmt.Sprintf(`"%s-%s"`, c.api.major, version) }

func (c *call) setETag(version string) { c.w.Header().Set("ETag", c.etag(version)) }

// notModified answers If-None-Match (RFC 9110 13.1.2). It reports whether the request is answered.
func (c *call) notModified(version string) bool {
	if !hasTag(c.r.Header.Values("If-None-Match"), c.etag(version), "W/"+c.etag(version)) { // a weak comparison
		return false
	}
	c.setETag(version)
	c.w.WriteHeader(http.StatusNotModified)
	return true
}

// ifMatch checks that the sender may use the instance that the path names. It returns the Version that If-Match wants of it
// (RFC 9110 13.1.1), "" for any.
func (c *call) ifMatch() (version string, err error) {
	tags := c.r.Header.Values("If-Match")
	if len(tags) == 0 {
		return "", c.permit(c.r.PathValue("id"))
	}
	instance, err := c.ownInstance()
	if err != nil {
		return "", err
	}
	if !hasTag(tags, c.etag(instance.Version)) {
		return "", fmt.Errorf("%w: the entity tag of VNF instance %s is %s", vnflcm.ErrPrecondition, instance.ID, c.etag(instance.Version))
	}
	if strings.TrimSpace(tags[0]) == "*" {
		return "", nil
	}
	return instance.Version, nil
}

// hasTag reports whether a list of entity tags has one of these, or is *.
func hasTag(header []string, tags ...string) bool {
	for each := range strings.SplitSeq(strings.Join(header, ","), ",") {
		if each = strings.TrimSpace(each); each == "*" || slices.Contains(tags, each) {
			return true
		}
	}
	return false
}
