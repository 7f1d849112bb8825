package notify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// A VNFM with subscriptions. An NFVO subscribes.
func ExampleNew() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{7}, 32), Packages: vnflcm.DirPackages("packages")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer manager.Close(context.Background())
	notifier := notify.New(manager, notify.Options{Allow: outbound.AllowAny}) // the NFVO of this example is on a loopback address
	handler, err := sol003.NewHandler(manager, sol003.Options{Subscriptions: notifier, InsecureAllowAnyone: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	ended := make(chan error, 1)
	go func() { ended <- notifier.Run(ctx) }()
	vnfm := httptest.NewServer(handler)

	nfvo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("the NFVO gets", r.Method, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	}))
	response, err := http.Post(vnfm.URL+"/vnflcm/v2/subscriptions", "application/json", strings.NewReader(`{"callbackUri": "`+nfvo.URL+`/changes"}`)) //nolint:noctx // an example
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.Status)

	_ = response.Body.Close()
	vnfm.Close()
	stop()
	fmt.Println(errors.Is(<-ended, context.Canceled))
	nfvo.Close()
	_ = manager.Close(context.Background())
	// Output:
	// the NFVO gets GET /changes
	// 201 Created
	// true
}
