package temporal_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if name := os.Getenv("VNFKIT_PROCESS"); name != "" { // a process of TestFleet
		if err := serveProcess(name, os.Getenv("VNFKIT_PROCESS_DIR")); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
