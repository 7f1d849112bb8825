// Package ansible runs playbooks on an Ansible server, as jobs that outlive the caller, and reads what they do.
//
//	server := ansible.Server{Host: pool.Host(target)} // or pool.Local: this machine
//	_, err := server.Check(ctx, ansible.Requirements{Root: "/opt/kubespray", Playbooks: []string{"cluster.yml"}, Passwords: true})
//	...
//	result, err := server.Run(ctx, ansible.Play{
//		Name:      "kubespray/" + operation + "/instantiate_end/cluster.yml",
//		Dir:       "/opt/kubespray",
//		Playbook:  "cluster.yml",
//		Inventory: []string{"/home/ubuntu/.vnfkit/kubespray/7/hosts.ini"},
//		Secrets:   []string{password},
//		Again:     true,
//	}, func(e ansible.Event) { progress(e.Play, e.Task, e.Host, e.Kind) })
//
// # A run has a name
//
// The same name finds the same run, from any process: one that goes on is followed from its beginning, one that has
// ended is told of without being started again. With Play.Again one that failed is started anew. Server.Forget ends
// and removes it.
//
// A shutdown (vnflcm.ErrShutdown, vnflcm.ErrLeased) leaves the run going, any other end of the context stops it with
// everything that it started. A connection that breaks is made anew.
//
// # What it tells
//
// Events come from the callback ansible.posix.jsonl where the server has it, otherwise from the text of the default
// callback; both give the same events. Whether a failure matters is not known when it happens: a playbook may ignore or
// rescue it. So HostFailed and Unreachable are told once the host has gone on (then Event.Ignored), or the run has
// ended.
//
// A run that fails is an *Error with the hosts, tasks and messages, and the last of what was said. A run that did
// nothing, or nothing on a host of Play.Limit, is one too (ErrNoHosts), although Ansible takes it for a success.
//
// # Secrets
//
// Variables and the vault password go by standard input into files of mode 0600 that the server removes when the run
// ends. What Play.Secrets names is masked in events, errors and output, also as JSON, Python and the shell write it.
//
// The log of the job, which Server.Forget removes, is not masked: it has what Ansible writes. It is of mode 0600 in a
// directory of mode 0700 of the login user. Passwords with which Ansible logs in and becomes root are not in it, neither
// are results of tasks with no_log and arguments that a module declares secret. Anything else that a task is given is:
// with the default callback where the task fails or prints it, with JSON lines always (cmd and invocation.module_args of
// every result; ansible_facts.ansible_env has the environment of the task, such as a proxy with its password).
// The same goes for a log of Ansible's own (ANSIBLE_LOG_PATH), which has the mode that the umask gives it.
//
// # Hosts that lie
//
// A host that a playbook works on can write lines of its own into the output, in either form: Ansible breaks warnings,
// with what modules and ssh said, into lines at white space. Events are what the output says, no more. Whether a run
// succeeded does not follow from them: only the exit code of ansible-playbook makes a success, and the last recap, which
// Ansible writes when no host is worked on any more, tells the hosts of Play.Limit that were left out.
package ansible
