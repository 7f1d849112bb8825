// Package helmcli is a helmclient.Client that drives the helm program (version 3) on control-plane nodes, as Tacker's
// specification has it, over whatever runs commands there:
//
//	client, err := helmcli.New(helmcli.Config{
//		Masters: []helmcli.Master{{Name: "master-1", Runner: host1}, {Name: "master-2", Runner: host2}},
//		Dir:     "/var/tacker/helm/" + instanceID,
//	})
//
// A master that cannot be reached, that has no usable helm or whose helm cannot reach the cluster is passed over for the
// next one; charts and repositories are put there when they are needed. An operation whose connection is lost in the
// middle is not simply run again: first the release is looked at through any master.
//
// Values go to Helm by standard input, passwords by standard input or a 0600 file below Config.Dir. The one exception are
// values that are whole numbers: only --set gives Helm whole numbers, so that these, and nothing else of the values, are
// on its command line. Labels and descriptions are on it too: they are no secrets.
package helmcli
