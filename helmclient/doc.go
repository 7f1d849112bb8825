// Package helmclient is the interface of Helm for a program: it installs, upgrades, rolls back and reads releases.
// Package helmsdk implements it with the Go packages of Helm 3, package helm4sdk with those of Helm 4, and package
// helmcli runs the helm program on a machine. Package helmtest tests any implementation.
// Package infra/kubernetes/kubetest has a cluster in the process, for tests of programs that use a client.
//
//	client, err := helmsdk.New(helmsdk.Config{...})
//	release, err := client.Install(ctx, helmclient.Install{
//		Name:   helmclient.Name{Namespace: "shop", Release: "web"},
//		Chart:  helmclient.Chart{Ref: "stable/web", Version: "1.2.0"},
//		Values: helmclient.Values{Set: []string{"replicas=3"}},
//		Wait:   helmclient.Wait{Ready: true, Timeout: 5 * time.Minute},
//	})
//	var notReady *helmclient.NotReadyError
//	if errors.As(err, &notReady) { ... } // which objects, and why
//
// The package itself links nothing but the standard library.
package helmclient
