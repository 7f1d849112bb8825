// Package bearer identifies the clients of package sol003 by OAuth 2.0 bearer tokens (RFC 6750) that are JSON Web Tokens
// (RFC 9068).
//
//	authorize, err := bearer.New(ctx, bearer.Config{
//		KeySet:   "https://login.example.com/certs",
//		Issuer:   "https://login.example.com",
//		Audience: "vnfm",
//	})
//	handler, err := sol003.NewHandler(manager, sol003.Options{Authorize: authorize})
//
// SOL013 v2.6.1 8.3 has clients fetch such tokens with the client credentials grant.
package bearer
