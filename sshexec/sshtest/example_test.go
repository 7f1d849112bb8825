package sshtest_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func Example() {
	host, err := sshtest.New(sshtest.Config{
		Name: "node1",
		Commands: map[string]sshtest.Command{
			"kubeadm": func(_ context.Context, p *sshtest.Process) int {
				_, _ = fmt.Fprintf(p.Stdout, "%s runs %v\n", p.User, p.Args)
				return 0
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = host.Close() }()

	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(host.PublicKey()))
	if err != nil {
		log.Fatal(err)
	}
	client, err := ssh.Dial("tcp", host.Addr(), &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, HostKeyCallback: ssh.FixedHostKey(key),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		log.Fatal(err)
	}
	session.Stdout = os.Stdout
	fmt.Println(session.Run(`hostname; sudo kubeadm init`))
	fmt.Println(len(host.Commands()), "programs ran")
	// Output:
	// node1
	// root runs [kubeadm init]
	// <nil>
	// 3 programs ran
}
