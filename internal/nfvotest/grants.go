package nfvotest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// Grant is a grant that the NFVO has made or rejected.
type Grant struct {
	ID        string
	Operation string // vnfLcmOpOccId
	Request   map[string]any

	status   int
	document map[string]any
	polls    int // that are answered with 202
}

// Grants returns the grants so far, the first one first.
func (n *NFVO) Grants() []*Grant {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.grants)
}

// GrantAll grants each resource of a request.
func GrantAll(request map[string]any) (int, map[string]any) {
	grant := map[string]any{}
	for _, list := range []string{"addResources", "tempResources", "removeResources", "updateResources"} {
		asked, _ := request[list].([]any)
		var granted []any
		for _, item := range asked {
			resource, _ := item.(map[string]any)
			granted = append(granted, map[string]any{"resourceDefinitionId": resource["id"]})
		}
		if granted != nil {
			grant[list] = granted
		}
	}
	return http.StatusCreated, grant
}

// Reject rejects a request.
func Reject(detail string) func(map[string]any) (int, map[string]any) {
	return func(map[string]any) (int, map[string]any) {
		return http.StatusForbidden, map[string]any{"title": "Forbidden", "status": http.StatusForbidden, "detail": detail}
	}
}

// create answers SOL003 v2.6.1 9.4.2.3.1.
func (n *NFVO) create(w http.ResponseWriter, r *http.Request) {
	var request map[string]any
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		problem(w, http.StatusBadRequest, "Bad Request", err.Error())
		return
	}
	g := n.granted(request)
	isUndecided := n.Undecided > 0
	if isUndecided || g.status == http.StatusCreated {
		w.Header().Set("Location", n.URL()+"/grant/v1/grants/"+g.ID)
	}
	if isUndecided {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	g.answer(w, g.status)
}

// granted returns the grant for a request.
func (n *NFVO) granted(request map[string]any) *Grant {
	n.mu.Lock()
	defer n.mu.Unlock()
	operation := fmt.Sprint(request["vnfLcmOpOccId"])
	known := slices.IndexFunc(n.grants, func(g *Grant) bool { return g.Operation == operation })
	if known >= 0 && !n.NeverMatches {
		return n.grants[known]
	}
	g := &Grant{ID: fmt.Sprintf("grant-%d", len(n.grants)+1), Operation: operation, Request: request, polls: n.Undecided}
	g.status, g.document = n.Decide(request)
	if g.status == http.StatusCreated {
		link := func(href any) map[string]any { return map[string]any{"href": href} }
		g.document["id"], g.document["vnfLcmOpOccId"], g.document["vnfInstanceId"] = g.ID, operation, request["vnfInstanceId"]
		g.document["_links"] = map[string]any{"self": link(n.server.URL + "/grant/v1/grants/" + g.ID),
			"vnfLcmOpOcc": link("https://vnfm.example/vnf_lcm_op_occs/" + operation), "vnfInstance": link("https://vnfm.example/vnf_instances/" + fmt.Sprint(request["vnfInstanceId"]))}
	}
	n.grants = append(n.grants, g)
	return g
}

// read answers SOL003 v2.6.1 9.4.3.3.2.
func (n *NFVO) read(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	at := slices.IndexFunc(n.grants, func(g *Grant) bool { return g.ID == r.PathValue("id") })
	if at < 0 {
		n.mu.Unlock()
		problem(w, http.StatusNotFound, "Not Found", "there is no such grant")
		return
	}
	g := n.grants[at]
	g.polls--
	undecided := g.polls >= 0
	n.mu.Unlock()
	if undecided {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusAccepted)
		return
	}
	g.answer(w, http.StatusOK)
}

// answer writes the grant, or why it is rejected.
func (g *Grant) answer(w http.ResponseWriter, status int) {
	if g.status != http.StatusCreated {
		answer(w, g.status, "application/problem+json", g.document)
		return
	}
	answer(w, status, "application/json", g.document)
}
