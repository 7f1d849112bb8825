// Package docker simulates what Docker Engine has on a machine: images, as "docker load" reads them, and containers, of which
// only the registry has a program that runs; go-containerregistry answers its requests. It follows moby 20.10 to 28 and distribution 2.8.
//
// It refuses options of "docker run" that it does not know, and what the real ones refuse: wrong ports, volumes, settings of the registry.
// It does not know layers, networks, build and compose.
// The client is in package dockercli. TestDockerContract in package kubesim asks both and Docker 20.10 what drivers ask, TestRegistryContract the registry and
// distribution 2.8.
package docker
