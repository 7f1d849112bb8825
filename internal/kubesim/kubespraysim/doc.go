// Package kubespraysim simulates the playbooks of kubespray that a driver runs: cluster.yml, facts.yml, scale.yml and
// remove-node.yml, in the places and with the variables, groups and checks of the release that the Server has. They log in to
// the machines over SSH with package ansiblesim, and use the programs of the machines, such as kubeadm and kubectl. So a
// machine fails them as it fails any other program.
//
// They differ from the real playbooks where those would take minutes: a drain gives up after a second.
package kubespraysim
