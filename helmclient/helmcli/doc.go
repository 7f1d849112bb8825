// Package helmcli implements helmclient.Client with the helm program (3.14 or later 3.x, or 4.2 or later 4.x) on
// control-plane nodes, as Tacker's specification requires. A Runner, for example *sshexec.Host, runs the commands:
//
//	client, err := helmcli.New(helmcli.Config{
//		Machines: []helmcli.Machine{{Name: "machine-1", Runner: host1}, {Name: "machine-2", Runner: host2}},
//		Dir:     "/var/tacker/helm/" + instanceID,
//	})
//
// If a machine cannot be reached, has no supported helm, or has a helm that cannot reach the cluster, the client uses the
// next machine. It copies charts and repositories to a machine when they are needed there. If the connection is lost during
// an operation, the client first inspects the release through any machine, and repeats the operation only if nothing has
// changed.
//
// The machines may have different versions of helm. Calls behave with helm 4 as with helm 3: an upgrade also sets fields
// that other clients have changed (--force-conflicts, with server-side apply), and existing CRDs stay unchanged unless the
// request replaces them; kubectl creates the missing CRDs.
//
// Helm gets values on standard input, and passwords on standard input or in a 0600 file below Config.Dir. The exception
// are values that are whole numbers: Helm accepts whole numbers only with --set, so that these values are on its command
// line. Labels and descriptions are on the command line too: they are not secret.
package helmcli
