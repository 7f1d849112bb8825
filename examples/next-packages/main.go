// Next-packages writes the second versions of the sample packages into a folder, to try a change of the VNF package:
//
//	go run ./examples/next-packages -to FOLDER
package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/packages"
)

const help = `Next-packages writes the second versions of the sample packages into a folder, each into a folder of its name.

	next-packages -to FOLDER
`

func main() {
	program := cli.New("next-packages", help)
	to := program.Flags.String("to", "", "the folder")
	program.Main(func(context.Context, []string) error {
		if *to == "" {
			return cli.Wrong("-to is missing")
		}
		return write(*to)
	})
}

// write writes each package into a folder below dir. A folder that exists is an error.
func write(dir string) error {
	var faults []error
	for _, first := range []packages.Sample{packages.KubernetesCluster, packages.KubesprayCluster, packages.PrivateRegistry, packages.CNF, packages.CNFOfMCIOPs} {
		second := first.Next()
		files, err := second.FS()
		if err == nil {
			err = os.CopyFS(filepath.Join(dir, second.Name), files)
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
