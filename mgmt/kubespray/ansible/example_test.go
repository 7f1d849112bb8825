package ansible_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// A playbook runs on the Ansible server. Run reports its events while it runs, and returns an error with host and task when
// it fails.
func ExampleServer_Run() {
	remote, err := sshtest.New(sshtest.Config{Name: "ansible", Commands: exampleAnsible})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remote.Close()
	keys, err := sshexec.PinnedHostKeys(remote.PublicKey())
	if err != nil {
		fmt.Println(err)
		return
	}
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	server := ansible.Server{Host: pool.Host(sshexec.Target{
		Name: "ansible", Addr: remote.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")}, HostKeys: keys,
	})}

	_, err = server.Run(context.Background(), ansible.Play{
		Name:      "kubespray/7f3c/scale_end/scale.yml", // a process that resumes after a crash finds the run by this name
		Playbook:  "scale.yml",
		Inventory: []string{"/home/ubuntu/.vnfkit/kubespray/7/hosts.ini"},
		Limit:     []string{"worker-10-10-0-7", "worker-10-10-0-8"},
		Again:     true,
	}, func(e ansible.Event) { fmt.Println(e) })
	fmt.Println(err)

	if failed, ok := errors.AsType[*ansible.Error](err); ok {
		fmt.Println(failed.Code, failed.Recap["worker-10-10-0-8"].OK)
	}
	// Output:
	// PLAY [Add workers]
	// TASK [kubernetes/node : Install kubelet]
	// changed: [worker-10-10-0-8]
	// failed: [worker-10-10-0-7]: No space left on device
	// ansible: scale.yml failed on worker-10-10-0-7 in task kubernetes/node : Install kubelet: No space left on device
	// 2 1
}

// exampleAnsible simulates Ansible's programs.
var exampleAnsible = map[string]sshtest.Command{
	"ansible-doc": func(context.Context, *sshtest.Process) int { return 1 }, // without ansible.posix, the text of the default callback is read
	"ansible-playbook": func(_ context.Context, p *sshtest.Process) int {
		fmt.Fprint(p.Stdout, `
PLAY [Add workers] *************************************************************

TASK [kubernetes/node : Install kubelet] ***************************************
fatal: [worker-10-10-0-7]: FAILED! => {"changed": false, "msg": "No space left on device"}
changed: [worker-10-10-0-8]

PLAY RECAP *********************************************************************
worker-10-10-0-7           : ok=0    changed=0    unreachable=0    failed=1    skipped=0    rescued=0    ignored=0
worker-10-10-0-8           : ok=1    changed=1    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0
`)
		return 2
	},
}
