// Package nfvo is the client of an NFVO: it asks for grants over HTTP (SOL003 v2.6.1 and v3.3.1 9).
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
package nfvo
