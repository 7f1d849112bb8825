// Package nfvo is the client of an NFVO: it asks for grants and fetches VNF packages over HTTP (SOL003 v2.6.1 and v3.3.1 9 and 10).
//
//	orchestrator, err := nfvo.New(nfvo.Config{
//		URL:      "https://nfvo.example.com",
//		LCM:      "https://vnfm.example.com/vnflcm/v2",
//		TokenURL: "https://nfvo.example.com/oauth/token",
//		ClientID: "vnfm",
//		ClientSecret: func() (vnflcm.Secret, error) { return vnflcm.NewSecret(os.Getenv("NFVO_SECRET")), nil },
//	})
//	if err != nil {
//		return err
//	}
//	defer orchestrator.Close()
//
// The Client is the Granter of a Manager (vnflcm.Config). docs/grants.md says what the Manager does with the answers.
//
// A Client identifies itself by access tokens of OAuth 2.0 (client credentials), by a client certificate (Config.TLS), or by both. It
// keeps a token until shortly before the token expires, and repeats a request once with another token if the NFVO answers 401. It verifies
// certificates, sends requests to one server only, follows no redirects, and bounds every answer. Errors and logs have no secrets.
//
// # Packages
//
// A PackageCache has the VNF packages of the NFVO. It finds a package by its VNFD, downloads the content and keeps it on disk:
//
//	packages, err := nfvo.NewPackageCache(orchestrator, "/var/lib/vnfm/nfvo-packages", nfvo.PackageOptions{Callback: "https://vnfm.example.com/nfvo/packages"})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{Packages: packages, ...})
//	http.Handle("/nfvo/packages", packages) // notifications of the NFVO
//	go packages.Run(ctx)                    // subscribes to them
//
// Creating and instantiating a VNF instance asks the NFVO each time, and needs a package that is ONBOARDED and ENABLED. Everything else
// uses the content that the instance was instantiated from, which stays in the cache until the instance is deleted. A download continues
// after a broken connection, and after the death of its process, by a Range with If-Range. The content is compared with the checksum that
// the NFVO announces; digests and signatures are checked as PackageOptions.Check says. Files are named after their SHA-256. Processes on
// the same Store download a content once.
package nfvo
