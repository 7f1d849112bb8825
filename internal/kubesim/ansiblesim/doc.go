// Package ansiblesim simulates ansible-playbook on an sshtest host: the command line, inventories (INI and YAML) with
// their variables files and vaults, the login over real SSH with the keys, passwords and known_hosts that the
// variables name, the two output callbacks, and the exit codes. Playbooks are Go functions that run programs on the
// hosts.
//
// It is as strict as ansible-core 2.14, which its texts follow: an unknown flag, a reference to a variable that does
// not exist, a password without sshpass or an unknown host key fail here as they fail there. What it does not know,
// such as other templates than references, it refuses.
//
// As with the real one, the ssh_args of ansible.cfg in the working directory come before the arguments of the
// inventory, and ssh takes the first value of an option.
package ansiblesim
