package nfvo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
)

// An NFVO that grants every request at once.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, "version", r.Header.Get("Version"))
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "grant-1", "vnfLcmOpOccId": "operation-1", "vnfInstanceId": "instance-1"})
	}))
	defer server.Close()

	orchestrator, err := nfvo.New(nfvo.Config{URL: server.URL, LCM: "https://vnfm.example/vnflcm/v2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orchestrator.Close()
	// A Manager with this Granter asks for each operation.
	answer, err := orchestrator.Ask(context.Background(), vnflcm.GrantRequest{VnfInstanceID: "instance-1", VnfLcmOpOccID: "operation-1",
		VnfdID: "vnfd-1", Operation: vnflcm.OpTerminate})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Grant.ID)
	// Output:
	// POST /grant/v1/grants version 1.4.0
	// grant-1
}
