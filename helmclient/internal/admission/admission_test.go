package admission_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/helmclient/internal/admission"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		`admission webhook "validate.nginx.ingress.kubernetes.io" denied the request: host "a" and path "/" is already defined in ingress b/c`:                                                               true,
		`Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://hook.default.svc:443/?timeout=10s": dial tcp 10.96.0.21:443: connect: connection refused`: true,
		`pods "web-7d9-x2x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2`:                                                                                             true,
		`pods "web" is forbidden: violates PodSecurity "baseline:latest": privileged (container "web" must not set securityContext.privileged=true)`:                                                         true,
		`pods "web" is forbidden: maximum cpu usage per Container is 1, but limit is 2`:                                                                                                                      true,
		`configmaps "a" is forbidden: unable to create new content in namespace shop because it is being terminated`:                                                                                         true,
		`deployments.apps "web" is forbidden: ValidatingAdmissionPolicy 'few.example.com' with binding 'few' denied request: object.spec.replicas > 5`:                                                       true,
		`secrets "sh.helm.release.v1.web.v1" is forbidden: User "system:serviceaccount:kube-system:vnfm" cannot get resource "secrets" in API group "" in the namespace "shop"`:                              false,
		`clusterroles.rbac.authorization.k8s.io "web" is forbidden: user "vnfm" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held`:                                false,
		`Unauthorized`: false,
		`Forbidden`:    false,
	} {
		if got := admission.Refused(message); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}
