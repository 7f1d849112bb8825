package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

type options struct {
	cloud, network, pkg, request, state string
	recovery                            string // public part of the recovery key of snapshots
	repository                          string // image_repository of the command images
	command                             string
	args                                []string
	plan                                bool // show what would be done, and do nothing
	json                                bool // write events as JSON
}

const help = `K8s-cluster manages a Kubernetes cluster as a VNF on OpenStack. Its state is in the folder -state: interrupt the program at any
moment, run the same command again, and it continues.

	k8s-cluster -cloud mycloud -network ID up    make the cluster
	k8s-cluster -cloud mycloud kubeconfig        print a kubeconfig for the cluster; it has a credential
	k8s-cluster -cloud mycloud ssh 10.10.0.80    open a shell on a machine, by its name, address, VDU or VNFC id
	k8s-cluster -cloud mycloud ssh 10.10.0.80 -- df -h   run a command there
	k8s-cluster -cloud mycloud ssh               list the machines
	k8s-cluster -cloud mycloud scale 2           two workers more; -2 for fewer
	k8s-cluster -cloud mycloud heal VNFC ...     replace these machines
	k8s-cluster -cloud mycloud heal restore=survivor VNFC ...
	                                             replace control-plane nodes without which etcd has no quorum; its data are
	                                             those of a node that is left or, with restore=latest or restore=ID, of a
	                                             snapshot. The answer says what is lost, and asks for confirm_loss=true
	k8s-cluster -cloud mycloud heal restore=none all
	                                             replace every machine: a new cluster, without the data
	k8s-cluster -cloud mycloud check             what is wrong with the machines: clocks, disk, memory, ports and more
	k8s-cluster -cloud mycloud certificates      when the certificates of the nodes end
	k8s-cluster -cloud mycloud renew-certificates  renew the certificates of the control plane
	k8s-cluster -cloud mycloud upgrade 1.36.3    replace Kubernetes by a newer version; a file with further parameters may follow
	k8s-cluster -cloud mycloud snapshot          save etcd, the PKI and what the control plane needs, encrypted, in the folder -state; before upgrades and heals, too
	k8s-cluster -cloud mycloud snapshot list     the snapshots that have passed their test
	k8s-cluster snapshot key FILE                make a recovery key, and print its public part for -recovery
	k8s-cluster snapshot open ARCHIVE FILE DIR   write the files of an archive into a new folder, with the recovery key, without the cloud and the state
	k8s-cluster images 1.36.3                    images and packages of a cluster, one in a line, for sites without internet; with -repository R also
	                                             the names of the images with image_repository R. A file with further parameters may follow
	k8s-cluster -cloud mycloud adopt STACK FILE  take over a cluster that Tacker has made
	k8s-cluster -cloud mycloud show              the instance as SOL003 describes it
	k8s-cluster -cloud mycloud down              remove everything
	k8s-cluster -cloud mycloud -plan scale 2     show what scale would do; also for up, heal, renew-certificates, upgrade and down
`

// commandLine is the command line of the program. Parsing it sets the flags in o.
func commandLine(o *options) *cli.Program {
	program := cli.New("k8s-cluster", help, "up", "kubeconfig", "ssh", "scale", "heal", "check", "certificates", "renew-certificates", "upgrade", "snapshot", "images", "adopt", "show", "down")
	program.Flags.StringVar(&o.cloud, "cloud", os.Getenv("OS_CLOUD"), "entry of clouds.yaml")
	program.Flags.StringVar(&o.network, "network", "", "id of the network for the machines (default: those of the request)")
	program.Flags.StringVar(&o.pkg, "package", samples.Package("k8s-cluster"), "VNF package, a directory or a CSAR")
	program.Flags.StringVar(&o.request, "request", filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate.json"), "instantiate request, a JSON file")
	program.Flags.StringVar(&o.state, "state", "k8s-cluster.state", "directory that keeps the state between runs")
	program.Flags.StringVar(&o.recovery, "recovery", "", "public part of the recovery key that opens snapshots (default: only this program opens them)")
	program.Flags.StringVar(&o.repository, "repository", "", "registry, and path in it, from which nodes of images pull (default: public registries)")
	program.Flags.BoolVar(&o.plan, "plan", false, "show what up, scale, heal, renew-certificates, upgrade or down would do, and do nothing")
	program.Flags.BoolVar(&o.json, "json", false, "write the events as JSON, an object per line, for other programs")
	return program
}

// check returns what is wrong with the words of the command line, before anything is done.
func (o options) check() (err error) {
	if o.plan && !slices.Contains([]string{"up", "scale", "heal", "renew-certificates", "upgrade", "snapshot", "down"}, o.command) {
		return fmt.Errorf("there is no plan for the command %q", o.command)
	}
	switch o.command {
	case "ssh":
	case "scale":
		_, err = scaleRequest(o.args)
	case "heal":
		_, err = healRequest(o.args)
	case "upgrade":
		_, err = upgradeRequest(o.args)
	case "snapshot":
		err = checkSnapshot(o.args)
	case "images":
		if len(o.args) < 1 || len(o.args) > 2 {
			err = errors.New("images takes a version such as 1.36.3 and, if need be, a JSON file with further parameters of the cluster")
		}
	case "adopt":
		if len(o.args) < 1 || len(o.args) > 2 {
			err = errors.New("adopt takes the name or id of a stack and, if there is one, the file of the VNF instance")
		}
	default:
		if len(o.args) > 0 {
			err = fmt.Errorf("unknown word %q: %s takes flags only", o.args[0], o.command)
		}
	}
	return err
}

// reads reports whether the command only reads the state. Its output is for other programs.
func (o options) reads() bool {
	return slices.Contains([]string{"show", "kubeconfig", "ssh", "check", "certificates"}, o.command) || o.command == "snapshot" && len(o.args) > 0
}
