package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/nfvotest"
)

// TestGrants instantiates a cluster with a grant of an NFVO. While the NFVO is away, an operator lets the termination begin.
func TestGrants(t *testing.T) {
	t.Parallel()
	orchestrator := nfvotest.Start(t)
	dir, data := t.TempDir(), t.TempDir()
	settings, authority, audit := filepath.Join(dir, "vnfm.yaml"), filepath.Join(dir, "ca.pem"), filepath.Join(dir, "audit.json")
	must(t, os.WriteFile(authority, orchestrator.Authority(), 0o600))
	must(t, os.WriteFile(settings, fmt.Appendf(nil, "audit: %q\napi_root: https://vnfm.example\ngrant: {operations: [INSTANTIATE, OPERATE, TERMINATE]}\nnfvo: {url: %q, ca: %q, token_url: %q, client_id: %s, client_secret: %s}\n",
		audit, orchestrator.URL(), authority, orchestrator.TokenURL(), nfvotest.ClientID, nfvotest.Secret), 0o600))
	p := start(t, data, "-config="+settings)
	o := operating{t, []string{"-config=" + settings, "-sandbox", "-data=" + data}}
	instance := p.api + "/vnf_instances/" + path.Base(p.create(sampleVNFD))
	operation, _ := p.send("POST", instance+"/instantiate", request(t, "instantiate_sandbox.json"), 202)
	operation = p.api + "/vnf_lcm_op_occs/" + path.Base(operation)
	p.await(operation, "COMPLETED")
	_, document := p.send("GET", operation, nil, 200)
	if grants := orchestrator.Grants(); len(grants) != 1 || document["grantId"] != grants[0].ID || grants[0].Operation != path.Base(operation) {
		t.Errorf("grants %v, grantId %v", grants, document["grantId"])
	}
	o.refused(1, "does not wait for a grant", "grant", path.Base(operation), "no", "reason", "-yes")

	orchestrator.Close()
	operation, _ = p.send("POST", instance+"/terminate", request(t, "terminate.json"), 202)
	operation = p.api + "/vnf_lcm_op_occs/" + path.Base(operation)
	id := path.Base(operation)
	eventually(t, func() bool { return strings.Contains(p.log.String(), "the NFVO does not answer") }, func() string { return p.log.String() })
	o.want([]string{"grant", id, "the NFVO", "is replaced"}, "begins without a grant of the NFVO", "Nothing was changed")
	p.await(operation, "STARTING")
	o.want([]string{"grant", id, "the NFVO", "is replaced", "-yes"})
	p.await(operation, "COMPLETED")
	_, document = p.send("GET", operation, nil, 200)
	if want := "granted by hand: " + operator() + ": the NFVO is replaced"; !strings.Contains(fmt.Sprint(document["warnings"]), want) {
		t.Errorf("warnings %v, want %q", document["warnings"], want)
	}
	records := readAudit(t, audit)
	for _, want := range []string{operator() + " vnfm admin grant " + id + " accepted", "begin without a grant accepted"} {
		if !slices.Contains(records, want) {
			t.Errorf("the audit records lack %q: %q", want, records)
		}
	}
	if strings.Contains(p.log.String(), nfvotest.Secret) || strings.Contains(p.log.String(), "access-token-") {
		t.Errorf("a secret is in the log:\n%s", p.log)
	}
}
