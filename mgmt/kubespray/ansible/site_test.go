package ansible_test

import "github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"

// siteFailures are the failures of site.yml that are not ignored.
var siteFailures = map[string][]ansible.Event{
	"node-1": {{Kind: ansible.HostFailed, Play: "Breaks", Task: "Breaks at last", Host: "node-1", Message: "non-zero return code: why"}},
	"node-2": {{Kind: ansible.HostFailed, Play: "Breaks", Task: "Items break", Host: "node-2", Message: "item /bin/ls /nowhere: non-zero return code: /bin/ls: cannot access '/nowhere': No such file or directory"}},
	"node-3": {{Kind: ansible.Unreachable, Play: "Nobody answers", Task: "Knocks", Host: "node-3", Message: "Failed to connect to the host via ssh: ssh: connect to host 127.0.0.1 port 1: Connection refused"}},
}

// siteRecap is the recap of site.yml.
var siteRecap = map[string]ansible.HostRecap{
	"node-1": {OK: 19, Changed: 5, Failed: 1, Skipped: 2, Rescued: 1, Ignored: 4},
	"node-2": {OK: 14, Changed: 5, Failed: 1, Skipped: 3, Ignored: 3},
	"node-3": {OK: 1, Unreachable: 1, Ignored: 1},
}
