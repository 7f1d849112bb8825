package openstack_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// TestCheckVIM logs in with connections of clients. Addresses must be allowed by the policy.
func TestCheckVIM(t *testing.T) {
	t.Parallel()
	cloud := newFake(t)
	refused := newFake(t)
	refused.fault = func(r *http.Request) int {
		if r.URL.Path == "/v3/auth/tokens" {
			return http.StatusUnauthorized
		}
		return 0
	}
	const login = `{"username":"u","password":"hunter2-canary","project":"nfv"}`
	for name, c := range map[string]struct {
		inter, access string
		policy        outbound.Policy
		want          string // attribute in the error; "": no error
	}{
		"accepted":     {`{"endpoint":"` + cloud.URL + `/v3"}`, login, outbound.AllowAny, ""},
		"refused":      {`{"endpoint":"` + refused.URL + `"}`, login, outbound.AllowAny, "accessInfo: "},
		"no password":  {`{"endpoint":"` + cloud.URL + `"}`, `{"username":"u","project":"nfv"}`, outbound.AllowAny, "accessInfo.password: "},
		"other region": {`{"endpoint":"` + cloud.URL + `","region":"RegionTwo"}`, login, outbound.AllowAny, "accessInfo.region: "},
		"not allowed":  {`{"endpoint":"` + cloud.URL + `"}`, login, nil, "interfaceInfo.endpoint: "},
		"metadata":     {`{"endpoint":"http://169.254.169.254/latest"}`, login, nil, "interfaceInfo.endpoint: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inter, err1 := vnflcm.ParseParams([]byte(c.inter))
			access, err2 := vnflcm.ParseParams([]byte(c.access))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			driver := openstack.New(openstack.Config{Allow: c.policy})
			defer driver.Close()
			err := driver.CheckVIM(t.Context(), vnflcm.VimConnectionInfo{VimType: "openstack", InterfaceInfo: inter, AccessInfo: access})
			if (err == nil) != (c.want == "") || !strings.HasPrefix(fmt.Sprint(err), "vimConnectionInfo."+c.want) && c.want != "" || strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("error %v", err)
			}
			if err != nil && !errors.Is(err, vnflcm.ErrInvalidRequest) {
				t.Errorf("%v is no fault of the request", err)
			}
		})
	}
}
