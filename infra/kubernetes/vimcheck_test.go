package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/cnftest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// TestCheckVIM asks clusters with connections of clients. The policy decides about their addresses.
func TestCheckVIM(t *testing.T) {
	t.Parallel()
	cluster, foreign := cnftest.Start(t), cnftest.Start(t)
	at := map[string]string{"endpoint": cluster.URL(), "ssl_ca_cert": cluster.CA()}
	token := map[string]string{"bearer_token": cluster.Token()}
	for name, c := range map[string]struct {
		inter, access map[string]string
		policy        outbound.Policy
		want          string // the attribute; "": no fault
	}{
		"accepted":          {at, token, outbound.AllowAny, ""},
		"refused":           {at, map[string]string{"bearer_token": "hunter2-canary"}, outbound.AllowAny, "accessInfo: "},
		"no login":          {at, nil, outbound.AllowAny, "accessInfo.bearer_token: "},
		"other authority":   {map[string]string{"endpoint": cluster.URL(), "ssl_ca_cert": foreign.CA()}, token, outbound.AllowAny, "interfaceInfo.ssl_ca_cert: "},
		"unknown authority": {map[string]string{"endpoint": cluster.URL()}, token, outbound.AllowAny, "interfaceInfo.ssl_ca_cert: "},
		"not allowed":       {at, token, nil, "interfaceInfo.endpoint: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, done := context.WithTimeout(t.Context(), time.Minute)
			defer done()
			inter, err1 := vnflcm.NewParams(c.inter)
			access, err2 := vnflcm.NewParams(c.access)
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			driver := kubernetes.New(kubernetes.Config{Allow: c.policy})
			err := driver.CheckVIM(ctx, vnflcm.VimConnectionInfo{VimType: "kubernetes", InterfaceInfo: inter, AccessInfo: access})
			if (err == nil) != (c.want == "") || !strings.HasPrefix(fmt.Sprint(err), "vimConnectionInfo."+c.want) && c.want != "" || strings.Contains(fmt.Sprint(err), "hunter2") {
				t.Errorf("error %v", err)
			}
			if err != nil && !errors.Is(err, vnflcm.ErrInvalidRequest) {
				t.Errorf("%v is no fault of the request", err)
			}
		})
	}
}
