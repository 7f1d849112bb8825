// Package client connects the machines of a cluster to private container registries.
//
// Drivers take a list of Connections from the attribute private_registry_connection_info of a request, check it
// with Connections.Validate before anything is changed, and call Connect on each machine:
//
//	runtime, err := client.Detect(ctx, node.SSH)
//	err = client.Connect(ctx, node.SSH, runtime, connections, open)
//	err = client.Probe(ctx, node.SSH, runtime, connections)
//
// Connect makes the settings of the machine match the list, whatever list it had before: it replaces a changed CA
// certificate or password, and removes a registry that is no longer in the list. Before it writes settings, it records
// them on the machine in /var/lib/vnfkit/registries.json (root only, no secrets), so that the next call completes an
// interrupted one. It does not change settings of other programs. If another program has configured the same registry
// with another connection or login, Connect returns ErrForeign. Settings that a script makes after Reserve belong to
// this package.
//
// # Files
//
//   - containerd: /etc/containerd/certs.d/<server>/hosts.toml and the CA certificate beside it. containerd reads them
//     at each pull and is not restarted. Its own configuration must name /etc/containerd/certs.d as config_path;
//     Connect checks that and does not change it.
//   - Docker: "insecure-registries" in /etc/docker/daemon.json for registries without TLS, with a reload of the
//     daemon when that changed; the CA certificate in /etc/docker/certs.d/<server>; "docker login" of root.
//   - both: "auths" of /var/lib/kubelet/config.json, since hosts.toml has no place for credentials and the kubelet
//     passes them to the runtime with each pull. The kubelet reads that file again after at most five minutes, so that
//     a changed password takes effect with a delay.
//
// Certificates are always verified.
//
// Mirrors are servers that containerd asks instead of public registries: Mirrors.Connections makes connections of them, which the caller adds to
// the list. Docker does not have them.
//
// The caller writes the lines of Connection.HostsString into /etc/hosts, together with those of the nodes: see
// Connections.HostEntries and mgmt.HostsFile.
package client
