// Package ansible runs playbooks on an Ansible server, as jobs that outlive the caller, and reports their events.
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
// # Names of runs
//
// The same name finds the same run, from any process. Server.Run follows a run that is still running from its beginning,
// and returns the result of a run that has ended without starting it again. With Play.Again, Server.Run starts a failed run
// again. Server.Forget stops and removes the run.
//
// If the context ends by a shutdown (vnflcm.ErrShutdown, vnflcm.ErrLeased), the run continues. If the context ends for any
// other reason, Server.Run stops the run and all processes that it started. Server.Run reconnects after a broken
// connection.
//
// # Events
//
// Server.Run reads events from the callback ansible.posix.jsonl if the server has it, otherwise from the text of the
// default callback. Both give the same events. When a task fails, it is not known yet whether the playbook ignores or
// rescues the failure. So HostFailed and Unreachable are reported later: when the host continues (with Event.Ignored), or
// when the run has ended.
//
// A failed run is an *Error with the hosts, tasks and messages, and the last lines of the output. A run that did nothing,
// or nothing on a host of Play.Limit, is a failure too (ErrNoHosts), although Ansible reports success.
//
// # Secrets
//
// Variables and the vault password are sent over standard input into files of mode 0600, which the server removes when the
// run ends. The secrets in Play.Secrets are masked in events, errors and output, also as JSON, Python and the shell write
// them.
//
// The log of the job, which Server.Forget removes, is not masked: it has what Ansible prints. Its mode is 0600, in a
// directory of mode 0700 of the login user. The log never has the passwords with which Ansible logs in and becomes root,
// results of tasks with no_log, or arguments that a module declares secret. It may have every other value that a task is
// given: with the default callback if the task fails or prints the value; with JSON lines always (cmd and
// invocation.module_args of every result; ansible_facts.ansible_env has the environment of the task, such as a proxy with
// its password). The same holds for a log that Ansible writes (ANSIBLE_LOG_PATH), whose mode depends on the umask.
//
// # Forged output
//
// A host that a playbook configures can insert forged lines into the output, in either form, because Ansible breaks
// warnings, with texts of modules and ssh, into lines at white space. So an event proves only that the output says so. The
// result of a run does not depend on events: a run succeeds only by the exit code of ansible-playbook, and the hosts of
// Play.Limit that were left out are read from the last recap, which Ansible prints after the last task on any host.
package ansible
