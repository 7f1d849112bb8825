package helmcli_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// unplugged is a machine that cannot be reached. A program uses an *sshexec.Host instead.
type unplugged struct{}

func (unplugged) Run(context.Context, []string, io.Reader, io.Writer, io.Writer) error {
	return errors.New("no route to host")
}

func ExampleNew() {
	client, err := helmcli.New(helmcli.Config{
		Machines: []helmcli.Machine{{Name: "machine-1", Runner: unplugged{}}, {Name: "machine-2", Runner: unplugged{}}},
		Dir:      "/var/tacker/helm/3b0b8c3d",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Status(context.Background(), helmclient.Name{Namespace: "shop", Release: "web"})
	fmt.Println(errors.Is(err, helmclient.ErrUnreachable))
	fmt.Println(err)
	// Output:
	// true
	// helm: machine-1: no route to host
	// helm: machine-2: no route to host
}
