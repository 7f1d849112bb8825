// Package helmclient is what a program may ask of Helm, whatever carries it out: package helmsdk links Helm's own Go
// packages, package helmcli drives the helm program on a machine. Package helmtest checks any implementation.
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
