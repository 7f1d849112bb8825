// Package outbound decides which addresses a VNFM connects to because a request says so.
//
// A request brings addresses: an inline VIM and the services in its catalog, chart repositories, registries, callback URIs.
// Without a limit its sender could reach services that only the machine of the VNFM can reach. Each driver takes a Policy:
//
//	policy := outbound.Except(netip.MustParsePrefix("127.0.0.0/8")) // a test setup on this machine
//	heat := openstack.New(openstack.Config{Allow: policy})
//	pool := sshexec.NewPool(sshexec.Options{Dial: policy.DialContext, Allow: policy.CheckHost, DialTrusted: outbound.Policy(outbound.AllowAny).DialContext})
//
// The default, RefuseLocal, refuses loopback, link-local and metadata addresses. A Policy judges an address when the program
// connects, after the name is resolved; behind a proxy or a jump host before the proxy or the jump host gets the target.
// What an operator has configured is not judged: entries of the VIM registry, what their catalogs name, and proxies.
//
// Programs on other machines, such as helm and containerd, connect from those machines. Only an IP address in an attribute
// for them is judged, by CheckURL; the network of the machines is the boundary.
package outbound
