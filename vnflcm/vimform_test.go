package vnflcm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// registeredCloud returns a VIM with every kind of attribute. Its secrets begin with "stored".
func registeredCloud(t *testing.T) vnflcm.VimConnectionInfo {
	t.Helper()
	return vnflcm.VimConnectionInfo{VimID: "cloud", VimType: "toy",
		InterfaceInfo: params(t, `{"endpoint":"http://cloud/v3","ssl_ca_cert":"CA","port":443}`),
		AccessInfo:    params(t, `{"username":"u","password":"stored-1","project":"p","region":"r","certVerify":true}`),
		Extra:         params(t, `{"jump_host":{"address":"jump","password":"stored-2"},"helm_info":{"password":"stored-3"},"namespace":"n"}`)}
}

// connection parses an entry of a request.
func connection(t *testing.T, text string) (v vnflcm.VimConnectionInfo) {
	t.Helper()
	var request vnflcm.InstantiateVnfRequest
	_, err := vnflcm.DecodeRequest([]byte(`{"flavourId":"plain","vimConnectionInfo":[`+text+`]}`), &request)
	must(t, err)
	return request.VimConnectionInfo[0]
}

// asRegistered are the attributes of registeredCloud that a driver gets.
const asRegistered = `{"endpoint":"http://cloud/v3","port":443,"ssl_ca_cert":"CA"} {"certVerify":true,"password":"stored-1","project":"p","region":"r","username":"u"} ` +
	`{"helm_info":{"password":"stored-3"},"jump_host":{"address":"jump","password":"stored-2"},"namespace":"n"}`

// vimEntries are entries of requests, with the attributes that a driver gets for each, and with the faulty attributes.
var vimEntries = map[string]struct {
	given  string
	want   string // interfaceInfo, accessInfo and extra, in clear
	faults []string
	// modified replaces want for a modification if the result differs: the connection of the instance has a type, and null
	// removes attributes.
	modified string
}{
	"a name": {given: `{"vimId":"cloud"}`, want: asRegistered},
	"a name with its region": {given: `{"vimId":"cloud","id":"c","accessInfo":{"regionName":"other"}}`,
		want: `{"endpoint":"http://cloud/v3","port":443,"ssl_ca_cert":"CA"} {"certVerify":true,"password":"stored-1","project":"p","regionName":"other","username":"u"} ` +
			`{"helm_info":{"password":"stored-3"},"jump_host":{"address":"jump","password":"stored-2"},"namespace":"n"}`},
	"equal values": {given: `{"vimId":"cloud","vimType":"toy","interfaceInfo":{"endpoint":"http://cloud/v3","port":"443","absent":null},"accessInfo":{"certVerify":"true","username":"u"}}`,
		want: asRegistered},
	"a login": {given: `{"vimId":"cloud","accessInfo":{"username":"me","password":"mine","project":"p"}}`,
		want: `{"endpoint":"http://cloud/v3","port":443,"ssl_ca_cert":"CA"} {"certVerify":true,"password":"mine","project":"p","region":"r","username":"me"} ` +
			`{"jump_host":{"address":"jump","password":"stored-2"}}`},
	"a login that lacks the user": {given: `{"vimId":"cloud","accessInfo":{"password":"mine"}}`,
		want: `{"endpoint":"http://cloud/v3","port":443,"ssl_ca_cert":"CA"} {"certVerify":true,"password":"mine","region":"r"} {"jump_host":{"address":"jump","password":"stored-2"}}`},
	"another token": {given: `{"vimId":"cloud","accessInfo":{"bearer_token":"mine"}}`,
		want: `{"endpoint":"http://cloud/v3","port":443,"ssl_ca_cert":"CA"} {"bearer_token":"mine","certVerify":true,"region":"r"} {"jump_host":{"address":"jump","password":"stored-2"}}`},
	"complete": {given: `{"vimId":"cloud","vimType":"toy","interfaceInfo":{"endpoint":"http://other/v3"},"accessInfo":{"username":"me","password":"mine"}}`,
		want: `{"endpoint":"http://other/v3"} {"password":"mine","username":"me"} {}`},
	"complete, address in accessInfo": {given: `{"vimId":"cloud","vimType":"toy","accessInfo":{"auth_url":"http://other/v3","username":"me","password":"mine"}}`,
		want: `{} {"auth_url":"http://other/v3","password":"mine","username":"me"} {}`},

	"another address":        {given: `{"vimId":"cloud","interfaceInfo":{"endpoint":"http://other/v3"}}`, faults: []string{"interfaceInfo.endpoint"}},
	"another address, typed": {given: `{"vimId":"cloud","vimType":"toy","interfaceInfo":{"endpoint":"http://other/v3"}}`, faults: []string{"interfaceInfo.endpoint"}},
	"address and login, no type": {given: `{"vimId":"cloud","interfaceInfo":{"endpoint":"http://other/v3"},"accessInfo":{"username":"u","password":"x"}}`, faults: []string{"interfaceInfo.endpoint"},
		modified: `{"endpoint":"http://other/v3"} {"password":"x","username":"u"} {}`},
	"an address in accessInfo":    {given: `{"vimId":"cloud","accessInfo":{"auth_url":"http://other/v3"}}`, faults: []string{"accessInfo.auth_url"}},
	"other spellings":             {given: `{"vimId":"cloud","accessInfo":{"AuthUrl":"http://other/v3","Auth-URL":"http://other/v3"}}`, faults: []string{"accessInfo.Auth-URL", "accessInfo.AuthUrl"}},
	"a kubeconfig":                {given: `{"vimId":"cloud","accessInfo":{"kubeconfig":"x"}}`, faults: []string{"accessInfo.kubeconfig"}, modified: `{} {"kubeconfig":"x"} {}`},
	"no verification":             {given: `{"vimId":"cloud","interfaceInfo":{"skipCertificateVerification":true}}`, faults: []string{"interfaceInfo.skipCertificateVerification"}},
	"no verification, accessInfo": {given: `{"vimId":"cloud","accessInfo":{"certVerify":false}}`, faults: []string{"accessInfo.certVerify"}},
	"another CA":                  {given: `{"vimId":"cloud","interfaceInfo":{"ssl_ca_cert":"mine"}}`, faults: []string{"interfaceInfo.ssl_ca_cert"}},
	"no CA":                       {given: `{"vimId":"cloud","interfaceInfo":{"ssl_ca_cert":null}}`, faults: []string{"interfaceInfo.ssl_ca_cert"}, modified: asRegistered},
	"another jump host":           {given: `{"vimId":"cloud","extra":{"jump_host":{"address":"other"}}}`, faults: []string{"extra.jump_host"}},
	"no jump host":                {given: `{"vimId":"cloud","extra":{"jump_host":null}}`, faults: []string{"extra.jump_host"}, modified: asRegistered},
	"an unknown attribute":        {given: `{"vimId":"cloud","extra":{"proxy":"http://other"}}`, faults: []string{"extra.proxy"}},
	"another namespace":           {given: `{"vimId":"cloud","extra":{"namespace":"other"}}`, faults: []string{"extra.namespace"}},
	"other helm_info":             {given: `{"vimId":"cloud","extra":{"helm_info":{"masternode_ip":["other"]}}}`, faults: []string{"extra.helm_info"}},
	"a CA and a login":            {given: `{"vimId":"cloud","vimType":"toy","interfaceInfo":{"ssl_ca_cert":"mine"},"accessInfo":{"username":"me","password":"mine"}}`, faults: []string{"interfaceInfo.ssl_ca_cert"}},
	"two attributes": {given: `{"vimId":"cloud","vimType":"toy","interfaceInfo":{"endpoint":"http://other/v3"},"extra":{"jump_host":{}}}`,
		faults: []string{"extra.jump_host", "interfaceInfo.endpoint"}},
}

func sections(v vnflcm.VimConnectionInfo) string {
	return fmt.Sprintf("%s %s %s", v.InterfaceInfo.Reveal(), v.AccessInfo.Reveal(), v.Extra.Reveal())
}

func prefixed(prefix string, attributes []string) (out []string) {
	for _, a := range attributes {
		out = append(out, prefix+a)
	}
	return out
}

// TestVIMForms checks that stored secrets are used only with the stored address, TLS settings and jump host.
func TestVIMForms(t *testing.T) {
	t.Parallel()
	for name, c := range vimEntries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			must(t, x.VIMs().Put(t.Context(), registeredCloud(t)))
			var got string
			x.watch(func(op *vnflcm.Operation) { got = sections(op.VIM) })
			request := vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{connection(t, c.given)}}
			opID, err := x.Instantiate(t.Context(), x.create(), request)
			if diff := cmp.Diff(prefixed("vimConnectionInfo[0].", c.faults), faults(err)); diff != "" {
				t.Fatalf("%v, faults:\n%s", err, diff)
			}
			if c.faults == nil {
				x.wait(opID, err, vnflcm.Completed)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("the driver got:\n%s", diff)
				}
			} else if strings.Contains(err.Error(), "stored") {
				t.Errorf("the error quotes a secret: %v", err)
			}

			request.VimConnectionInfo = vnflcm.VimConnections{{VimID: "vim1"}, connection(t, c.given)}
			_, err = x.Instantiate(t.Context(), x.create(), request)
			if diff := cmp.Diff(prefixed("vimConnectionInfo[1].", c.faults), faults(err)); diff != "" {
				t.Errorf("second entry: %v, faults:\n%s", err, diff)
			}
		})
	}
}

// TestVIMFormStays checks that the meaning of a request does not change if its vimId is registered later.
func TestVIMFormStays(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	var got string
	x.watch(func(op *vnflcm.Operation) { got = sections(op.VIM) })
	id := x.create()
	mine := connection(t, `{"vimId":"cloud","vimType":"toy","accessInfo":{"username":"me"}}`)
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{mine}})
	x.wait(opID, err, vnflcm.Completed)
	must(t, x.VIMs().Put(t.Context(), registeredCloud(t)))
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	x.wait(opID, err, vnflcm.Completed)
	if want := `{} {"username":"me"} {}`; got != want {
		t.Errorf("the driver got %s, want %s", got, want)
	}
}

// TestModifiedVIMForms checks that a modification cannot send stored secrets to another address either.
func TestModifiedVIMForms(t *testing.T) {
	t.Parallel()
	for name, c := range vimEntries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, nil)
			must(t, x.VIMs().Put(t.Context(), registeredCloud(t)))
			id := x.create()
			opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{{ID: "c", VimID: "cloud"}}})
			x.wait(opID, err, vnflcm.Completed)
			patch := connection(t, c.given)
			patch.ID = "c"
			opID, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VimConnectionInfo: vnflcm.VimConnections{patch}}, "")
			if c.modified != "" {
				c.want, c.faults = c.modified, nil
			}
			if diff := cmp.Diff(prefixed("vimConnectionInfo[0].", c.faults), faults(err)); diff != "" {
				t.Fatalf("%v, faults:\n%s", err, diff)
			}
			if c.faults != nil {
				return
			}
			x.wait(opID, err, vnflcm.Completed)
			var got string
			x.watch(func(op *vnflcm.Operation) { got = sections(op.VIM) })
			opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
			x.wait(opID, err, vnflcm.Completed)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the driver got:\n%s", diff)
			}
		})
	}
}

// TestModifiedRegistration checks that a modification of an entry that an operation has registered replaces the whole entry, so that the
// cluster's token is not sent to another address. The password of a connection from a request can be changed alone.
func TestModifiedRegistration(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	x.watch(func(op *vnflcm.Operation) {
		if op.Kind == vnflcm.OpInstantiate {
			must(t, op.RegisterVIM(t.Context(), vnflcm.VimConnectionInfo{ID: "made", VimID: "made", VimType: "toy",
				InterfaceInfo: params(t, `{"endpoint":"http://made"}`), AccessInfo: params(t, `{"bearer_token":"stored-4"}`)}))
		}
	})
	id := x.create()
	mine := connection(t, `{"id":"mine","vimType":"toy","interfaceInfo":{"endpoint":"http://mine"},"accessInfo":{"username":"me","password":"old"}}`)
	opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain", VimConnectionInfo: vnflcm.VimConnections{mine}})
	x.wait(opID, err, vnflcm.Completed)

	_, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VimConnectionInfo: vnflcm.VimConnections{connection(t, `{"id":"made","interfaceInfo":{"endpoint":"http://other"}}`)}}, "")
	if diff := cmp.Diff([]string{"vimConnectionInfo[1].interfaceInfo.endpoint"}, faults(err)); diff != "" {
		t.Errorf("%v, faults:\n%s", err, diff)
	}
	opID, err = x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VimConnectionInfo: vnflcm.VimConnections{
		connection(t, `{"id":"made","interfaceInfo":{"endpoint":"http://other"},"accessInfo":{"bearer_token":"mine"}}`),
		connection(t, `{"id":"mine","accessInfo":{"password":"new"}}`)}}, "")
	x.wait(opID, err, vnflcm.Completed)
	inst, err := x.Get(t.Context(), id)
	must(t, err)
	var got []string
	for _, v := range inst.VimConnectionInfo {
		got = append(got, v.ID+" "+sections(v))
	}
	want := []string{`mine {"endpoint":"http://mine"} {"password":"new","username":"me"} {}`, `made {"endpoint":"http://other"} {"bearer_token":"mine"} {}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("connections:\n%s", diff)
	}
}
