// Package sol003 serves the APIs of a VNFM for VNF lifecycle management and VNF packages (ETSI GS NFV-SOL 003) over HTTP.
//
// To serve a Manager to clients with a certificate:
//
//	handler, err := sol003.NewHandler(manager, sol003.Options{
//		Authorize: sol003.ClientCertificates(map[string]sol003.Principal{"CN=nfvo,O=Example": {Name: "nfvo"}}),
//	})
//	server := &http.Server{Addr: ":9890", Handler: handler, TLSConfig: tlsConfig,
//		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
//	err = server.ListenAndServeTLS("vnfm.crt", "vnfm.key")
//
// The example of NewHandler is a complete program. Package bearer accepts OAuth 2.0 tokens, package keystone tokens of
// OpenStack. Senders have tenants and roles (Principal), and Options.Audit gets a record of what they do. docs/api.md shows the life of a
// VNF by curl, and has tables of the resources, the answers and the query parameters.
//
// # Parts
//
// WriteProblem answers a request with ProblemDetails. ParseFilter reads attribute filters. Both are useful to other
// handlers, such as one for SOL002.
//
// # Documents
//
// The types of vnflcm marshal to version 1 of the API (SOL003 v2.6.1) by themselves. MarshalInstanceV2 and
// MarshalOperationV2 make documents of version 2 (SOL003 v3.3.1). Both versions show the same values: secrets are ***, as
// the Manager has them (vnflcm.PublicParams and vnflcm.Config.PublicParams say what is shown). Requests need no conversion:
// vnflcm.DecodeRequest reads both versions.
//
// What differs in version 2:
//
//	attribute                                  version 1                 version 2
//	vimConnectionInfo                          list                      map by id (4.4.1.6)
//	cpConfig of external connection points     list                      map by cpInstanceId (4.4.1.10)
//	currentVnfExtCpData of external links      beyond v2.6.1             required (5.5.3.2)
//	cpConfigId of extCpInfo                    beyond v2.6.1             required (5.5.3.9)
//	virtual link of an affectedVirtualLink     virtualLinkDescId         vnfVirtualLinkDescId (5.5.3.13)
//	changedInfo of an operation                if there is any change    always, as ETSI's OpenAPI definition requires
package sol003
