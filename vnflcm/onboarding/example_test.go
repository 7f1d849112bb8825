package onboarding_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// A package without a VNFD is refused. The faults are stored with the package, and the client can upload another content.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "onboarded")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	packages, err := onboarding.New(dir, onboarding.Options{MinFree: 1 << 20})
	if err != nil {
		panic(err)
	}
	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: store.NewMemory(), Key: []byte(rand.Text()), Packages: packages})
	if err != nil {
		panic(err)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- packages.Run(running) }()

	var content bytes.Buffer
	z := zip.NewWriter(&content)
	_, err1 := z.Create("README.md")
	err = errors.Join(err1, z.Close())
	if err != nil {
		panic(err)
	}
	info, err := packages.Create(ctx, "north", vnflcm.KeyValuePairs{"order": "4711"})
	if err != nil {
		panic(err)
	}
	if err = packages.Upload(ctx, "north", info.ID, &content, int64(content.Len())); err != nil {
		panic(err)
	}
	for info.OnboardingState != onboarding.Onboarded && info.OnboardingState != onboarding.Failed {
		if info, err = packages.Get(ctx, "north", info.ID); err != nil {
			panic(err)
		}
	}
	fmt.Println(info.OnboardingState, info.OperationalState)
	for _, fault := range info.OnboardingFailureDetails.Faults {
		fmt.Println(fault.Code)
	}

	stop()
	<-done
	_ = manager.Close(ctx)
	// Output:
	// ERROR DISABLED
	// csar.missing-entry-definitions
}
