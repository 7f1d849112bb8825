package helmclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
)

func TestName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name helmclient.Name
		ok   bool
	}{
		{helmclient.Name{Release: "web"}, true},
		{helmclient.Name{Release: "web.v1-2", Namespace: "shop-1"}, true},
		{helmclient.Name{Release: strings.Repeat("a", 53)}, true},
		{helmclient.Name{Release: strings.Repeat("a", 54)}, false},
		{helmclient.Name{}, false},
		{helmclient.Name{Release: "Web"}, false},
		{helmclient.Name{Release: "-web"}, false},
		{helmclient.Name{Release: "web."}, false},
		{helmclient.Name{Release: "web; touch x"}, false},
		{helmclient.Name{Release: "web\n"}, false},
		{helmclient.Name{Release: "web", Namespace: "a.b"}, false},
		{helmclient.Name{Release: "web", Namespace: "$(id)"}, false},
		{helmclient.Name{Release: "web", Namespace: strings.Repeat("n", 64)}, false},
	} {
		if err := c.name.Validate(); (err == nil) != c.ok || err != nil && !errors.Is(err, helmclient.ErrInvalid) {
			t.Errorf("%q: %v", c.name, err)
		}
	}
}

func TestPasswordIsNeverShown(t *testing.T) {
	t.Parallel()
	r := helmclient.Repository{Name: "r", Access: helmclient.Access{Username: "u", Password: helmclient.NewPassword("canary")}}
	js, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(r), fmt.Sprintf("%+v %#v %q %d", r, r, r.Password, r.Password), fmt.Sprintf("%v", &r), string(js)} {
		if strings.Contains(text, "canary") || !strings.Contains(text, "***") && !strings.Contains(text, "0x") {
			t.Errorf("shown as %s", text)
		}
	}
	if r.Password.Reveal() != "canary" || !(helmclient.Password{}).IsZero() {
		t.Error("the password is not what was given")
	}
}

func TestStaleError(t *testing.T) {
	t.Parallel()
	e := &helmclient.StaleError{Release: helmclient.Name{Release: "web"}, State: helmclient.PendingInstall, Since: time.Unix(0, 0)}
	if !errors.Is(e, helmclient.ErrStale) || errors.Is(e, helmclient.ErrBusy) {
		t.Error("an operation that is long dead counts as busy")
	}
	e.Busy = true
	if errors.Is(e, helmclient.ErrStale) || !errors.Is(e, helmclient.ErrBusy) {
		t.Error("an operation that may be alive counts as dead")
	}
	if !strings.Contains(e.Error(), "pending-install since 1970-01-01T00:00:00Z") {
		t.Error(e)
	}
}

func ExampleNotReadyError() {
	var err error = &helmclient.NotReadyError{Release: helmclient.Name{Namespace: "shop", Release: "web"}, After: 5 * time.Minute,
		Objects: []helmclient.Object{{Kind: "Deployment", Name: "web", Reason: "2 of 3 pods are ready",
			Pods: []string{"pod web-7d9-x2x: ImagePullBackOff: no such image"}}}}
	if failed, ok := errors.AsType[*helmclient.NotReadyError](err); ok {
		for _, o := range failed.Objects {
			fmt.Println(o)
		}
	}
	// Output: Deployment web, 2 of 3 pods are ready, pod web-7d9-x2x: ImagePullBackOff: no such image
}
