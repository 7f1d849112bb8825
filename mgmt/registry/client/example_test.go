package client_test

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/vnfkit/vnfkit/mgmt/registry/client"
)

// A driver checks the list of a request before it touches anything: every fault at once, with the remedy.
func ExampleConnections_Validate() {
	list := client.Connections{
		{Type: client.HTTP, Server: "192.168.0.10:5000"},
		{Type: client.HTTPS, Server: "registry.example.com", CertificatePath: "Files/ca.crt", HostsString: "registry.example.com"},
	}
	noFiles := func(path string) (io.ReadCloser, error) {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	fmt.Println(list.Validate("private_registry_connection_info", noFiles))
	// Output:
	// private_registry_connection_info[1].hosts_string: "registry.example.com": must be an address and a host name: "192.168.0.20 registry.example.com"
	// private_registry_connection_info[1].certificate_path: "Files/ca.crt": the package has no such file
}
