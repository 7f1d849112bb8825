package kubeaccess_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
)

// TestHugeAnswers: the bodies of answers, and the messages in errors, are bounded.
func TestHugeAnswers(t *testing.T) {
	t.Parallel()
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	long := strings.Repeat("x", 1<<19)
	for name, c := range map[string]struct {
		status      int
		begin, fill string
		endless     bool
		want        func(error) bool
	}{
		"dense list":   {http.StatusOK, `{"kind":"PodList","apiVersion":"v1","items":[{"x":[0` + strings.Repeat(",{}", 3<<20) + `]}]}`, "", false, isTooLong},
		"endless text": {http.StatusOK, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"`, "xxxxxxxx", true, isTooLong},
		"endless list": {http.StatusOK, `{"kind":"PodList","apiVersion":"v1","items":[{}`, ",{},{},{}", true, isTooLong},
		"endless refusal": {http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"`, "xxxxxxxx", true,
			apierrors.IsForbidden},
		"endless page": {http.StatusBadGateway, "<html>", "xxxxxxxx", true, func(err error) bool { return errors.Is(err, kubeaccess.ErrUnreachable) }},
		"long messages": {http.StatusUnprocessableEntity, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"` + long +
			`","details":{"causes":[{"reason":"FieldValueInvalid","message":"` + long[:1<<18] + `"}]}}`, "", false, apierrors.IsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAPI(t, (*httptest.Server).StartTLS)
			info := vim(t, attrs{"endpoint": a.URL, "ssl_ca_cert": a.ca()}, attrs{"bearer_token": canary}, nil)
			cluster, err := kubeaccess.Open(t.Context(), info, kubeaccess.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			var sent atomic.Int64
			a.set(func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				_, err := w.Write([]byte(c.begin))
				filler := []byte(strings.Repeat(c.fill, 1<<13))
				for c.endless && err == nil && sent.Load() < 256<<20 {
					_, err = w.Write(filler)
					sent.Add(int64(len(filler)))
				}
				return true
			})
			list := func(ctx context.Context) error {
				_, err := cluster.Dynamic.Resource(pods).List(ctx, metav1.ListOptions{})
				return err
			}
			if c.status == http.StatusBadGateway { // a retry may help: once is enough here
				err = cluster.Explain(list(t.Context()))
			} else {
				err = cluster.Do(t.Context(), list)
			}
			if !c.want(err) || len(err.Error()) > 4<<10 {
				t.Errorf("%.300v, %d bytes", err, len(fmt.Sprint(err)))
			}
			if status, ok := errors.AsType[*apierrors.StatusError](err); ok && len(fmt.Sprint(status.ErrStatus)) > 8<<10 {
				t.Errorf("the Status has %d bytes", len(fmt.Sprint(status.ErrStatus)))
			}
			if n := sent.Load(); n > 80<<20 {
				t.Errorf("%d MiB were read", n>>20)
			}
			if isTooLong(err) && !strings.Contains(err.Error(), a.URL) {
				t.Errorf("the error does not name the endpoint: %v", err)
			}
		})
	}
}

func isTooLong(err error) bool { return errors.Is(err, answerlimit.ErrTooLong) }
