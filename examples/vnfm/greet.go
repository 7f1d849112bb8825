package main

import (
	"fmt"
	"net"
	"path/filepath"

	"github.com/vnfkit/vnfkit/examples/internal/samples"
)

// greet says where the VNFM is and, on a sandbox that anyone on this machine may use, what to try.
func (v *vnfm) greet(address net.Addr) {
	if !v.config.onSandbox || v.config.TLS.Certificate != "" || v.config.identifies() {
		v.log.Info("serving", "address", address.String())
		return
	}
	fmt.Print(greeting(address.String()))
}

// greeting has commands to try.
func greeting(address string) string {
	return fmt.Sprintf(`A VNFM on a sandbox: http://%[1]s/vnflcm/v2 (in a browser http://%[1]s). Try in another terminal:

vnf=$(curl -si http://%[1]s/vnflcm/v2/vnf_instances -H 'Content-Type: application/json' -d '{"vnfdId": %[2]q}' | tr -d '\r' | sed -n 's/^Location: //p')
curl http://%[1]s/preview/v1/vnf_instances/${vnf##*/}/instantiate -H 'Content-Type: application/json' -d @%[3]s
curl -i $vnf/instantiate -H 'Content-Type: application/json' -d @%[3]s
curl "http://%[1]s/vnflcm/v2/vnf_lcm_op_occs"

`, address, sampleVNFD, filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"))
}

// sampleVNFD is the descriptor of the package k8s-cluster.
const sampleVNFD = "6a1c2f0e-1d6e-4f4e-9a3c-0d5b6a7c8ea0"
