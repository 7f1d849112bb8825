// Package keystone identifies the clients of package sol003 by tokens of OpenStack's Keystone, in the header X-Auth-Token, as
// clients of OpenStack services do.
//
//	authorize, err := keystone.New(keystone.Config{
//		AuthURL: "https://keystone.example.com/v3",
//		Account: func() (keystone.Account, error) {
//			password, err := os.ReadFile("/etc/vnfm/keystone-password")
//			return keystone.Account{UserName: "vnfm", Password: vnflcm.NewSecret(strings.TrimSpace(string(password))), Project: "service"}, err
//		},
//		Roles: map[string]sol003.Role{"reader": sol003.RoleReader, "member": sol003.RoleOperator, "admin": sol003.RoleAdmin},
//	})
//	handler, err := sol003.NewHandler(manager, sol003.Options{Authorize: authorize, Challenge: keystone.Challenge(authURL)})
//
// The project of a token is the tenant of the sender, and the roles in this project are its roles. The account of the VNFM
// needs the role that Keystone's policy requires for the validation of tokens: service or, in most installations, admin.
//
// Application credentials with access rules are refused: Keystone describes their tokens only to services that check the
// rules.
package keystone
