package linux_test

import (
	"fmt"
	"io"
	"os"

	"github.com/vnfkit/vnfkit/mgmt/linux"
)

// A driver checks the repository of a request before it touches anything: every fault at once, with the remedy.
func ExampleRepository_Validate() {
	r := linux.Repository{URL: "https://user:secret@packages.example.com/", Suite: "stable"}
	fmt.Println(r.Validate(func(name string) (io.ReadCloser, error) { return os.Open("package/" + name) }))
	// Output:
	// repository_url: has a login, which every user of the machines could read: use a repository that asks for none
	// repository_components: are required with a suite, such as main
	// repository_key_path: is required: packages are installed only when their signature is right
}
