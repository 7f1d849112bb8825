// Package client connects the machines of a cluster to private container registries.
//
// Drivers take a list of Connections from the attribute private_registry_connection_info of a request, check it
// with Connections.Validate before anything is touched, and call Connect on each machine:
//
//	runtime, err := client.Detect(ctx, node.SSH)
//	err = client.Connect(ctx, node.SSH, runtime, connections, open)
//	err = client.Probe(ctx, node.SSH, runtime, connections)
//
// Connect makes the machine what the list says, however often it is called and with whatever list before: a new
// CA certificate or password takes the place of the old one, and a registry that is no longer in the list is
// forgotten. What is ours is noted on the machine in /var/lib/vnfkit/registries.json (root only, no secrets)
// before it is written, so that a call that was cut short is made good by the next. What others have set up
// stays as it is; where that is another connection or login of the same registry, Connect refuses (ErrForeign). What a
// script will set up on our behalf is ours after Reserve.
//
// # What is written
//
//   - containerd: /etc/containerd/certs.d/<server>/hosts.toml and the CA certificate beside it. They are read at
//     each pull: containerd is not restarted. Its own configuration must name /etc/containerd/certs.d as
//     config_path; that is checked, not changed.
//   - Docker: "insecure-registries" in /etc/docker/daemon.json for registries without TLS, with a reload of the
//     daemon when that changed; the CA certificate in /etc/docker/certs.d/<server>; "docker login" of root.
//   - both: "auths" of /var/lib/kubelet/config.json, since hosts.toml has no place for credentials and the kubelet
//     gives them to the runtime with each pull. The kubelet reads that file anew after five minutes at the latest:
//     a changed password is not known at once.
//
// Certificates are always verified: nothing here turns that off.
//
// The lines that Connection.HostsString puts into /etc/hosts are the caller's to write, beside those of the
// nodes: see Connections.HostEntries and mgmt.HostsFile.
package client
