package csar_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func ExampleOpen() {
	a, err := csar.Open(context.Background(), "../../examples/packages/k8s-cluster", csar.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	fmt.Println(a.Meta().EntryDefinitions)
	// Output: Definitions/k8s_cluster_top.vnfd.yaml
}

// A package that differs from its manifest is refused with all faults.
func ExampleArchive_Verify() {
	file := func(content string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(content)} }
	a, err := csar.OpenFS(context.Background(), fstest.MapFS{
		"vnfd.yaml": file("tosca_definitions_version: tosca_simple_yaml_1_3\n"),
		"vnfd.mf": file(`Source: Scripts/install.sh
Algorithm: SHA-256
Hash: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824

Source: Files/disk.img
Algorithm: SHA-256
Hash: 486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7
`),
		"Scripts/install.sh": file("hello, world"),
	}, csar.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	var faults problem.List
	if err := a.Verify(context.Background()); errors.As(err, &faults) {
		for _, f := range faults {
			fmt.Println(f.Position, f.Code)
		}
	}
	// Output:
	// vnfd.mf:1:1 csar.hash-mismatch
	// vnfd.mf:5:1 csar.missing-file
}

// With Require, Open accepts only packages with a trusted signer.
func ExampleIntegrity() {
	_, err := csar.Open(context.Background(), "../../examples/packages/k8s-cluster", csar.Options{
		Integrity: csar.Integrity{Policy: csar.Require},
	})
	fmt.Println(errors.Is(err, problem.Problem{Code: problem.Unsigned}))
	// Output: true
}

// An artifact is read as a stream, so an image of many GiB takes no more memory than a script.
func ExampleArchive_Open() {
	a, err := csar.OpenFS(context.Background(), fstest.MapFS{
		"vnfd.yaml":      {Data: []byte("tosca_definitions_version: tosca_simple_yaml_1_3\n")},
		"Files/disk.img": {Data: make([]byte, 1<<20)},
	}, csar.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	image, err := a.Open("Files/disk.img")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer image.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, image)
	fmt.Printf("%d %x %v\n", n, sum.Sum(nil)[:4], err)
	// Output: 1048576 30e14955 <nil>
}
