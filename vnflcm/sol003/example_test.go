package sol003_test

import (
	"fmt"
	"log"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// MarshalInstanceV2 returns the document of version 2 of the API: connections are a map by id, and passwords are masked.
func ExampleMarshalInstanceV2() {
	access, err := vnflcm.ParseParams([]byte(`{"username": "tenant", "password": "s3cret"}`))
	if err != nil {
		log.Fatal(err)
	}
	instance := &vnflcm.VnfInstance{ID: "i-1", VnfdID: "vnfd", VnfProvider: "Acme", VnfProductName: "Shop", VnfSoftwareVersion: "1", VnfdVersion: "1",
		InstantiationState: vnflcm.NotInstantiated,
		VimConnectionInfo:  vnflcm.VimConnections{{ID: "vim1", VimType: "openstack", AccessInfo: access}}}
	body, err := sol003.MarshalInstanceV2(instance)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", body)
	// Output:
	// {"id":"i-1","instantiationState":"NOT_INSTANTIATED","vimConnectionInfo":{"vim1":{"accessInfo":{"password":"***","username":"***"},"vimType":"openstack"}},"vnfProductName":"Shop","vnfProvider":"Acme","vnfSoftwareVersion":"1","vnfdId":"vnfd","vnfdVersion":"1"}
}
