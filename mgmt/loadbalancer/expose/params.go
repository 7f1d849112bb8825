package expose

import (
	"errors"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/internal/login"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// parameters are the additionalParams that the driver reads.
type parameters struct {
	ExternalLB *externalLB `json:"lcm-kubernetes-external-lb"`
}

type externalLB struct {
	ScriptPath string  `json:"script_path"` // of Tacker; has no effect
	Param      lbParam `json:"external_lb_param"`
}

// lbParam has Tacker's attributes first, then those that only vnfkit has.
type lbParam struct {
	IP string `json:"ssh_ip"` // address or host name, with a port or without
	login.SSH
	HostKey string `json:"host_key"` // authorized_keys form; default: the first key that the machine shows
}

// The names of the parameters.
const (
	paramName = "lcm-kubernetes-external-lb"
	paramPath = "additionalParams." + paramName
)

// SecretParams implements vnflcm.SecretParams.
func (d *Driver) SecretParams() []string { return vnflcm.SecretPaths(parameters{}) }

// PublicParams implements vnflcm.PublicParams.
func (d *Driver) PublicParams() []string { return vnflcm.PublicPaths(parameters{}) }

// read decodes and checks the parameters. target is the machine of the load balancer. unknown are attributes within
// lcm-kubernetes-external-lb that have no effect; other attributes belong to infra drivers.
func read(op *vnflcm.Operation) (target sshexec.Target, p externalLB, unknown []string, err error) {
	var all parameters
	names, err := op.Params.Decode(&all)
	for _, name := range names {
		if strings.HasPrefix(name, paramName+".") {
			unknown = append(unknown, "additionalParams."+name)
		}
	}
	if err != nil {
		return target, p, unknown, vnflcm.AtPath("additionalParams", err)
	}
	if all.ExternalLB == nil {
		return target, p, unknown, &vnflcm.ParamError{Path: paramPath, Reason: "is required: it says where the load balancer of the cluster is"}
	}
	target, err = all.ExternalLB.Param.target(op)
	return target, *all.ExternalLB, unknown, vnflcm.AtPath(paramPath+".external_lb_param", err)
}

// target checks and converts in one step, so that exactly the checked values are used.
func (p lbParam) target(op *vnflcm.Operation) (sshexec.Target, error) {
	var faults []error
	fault := func(name, value, reason string) {
		faults = append(faults, &vnflcm.ParamError{Path: name, Value: value, Reason: reason})
	}
	t := sshexec.Target{Addr: address(p.IP), User: p.Username, Sudo: sshexec.SudoPassword(p.Password.Reveal()), HostKeys: sshexec.AcceptNewHostKeys(hostkeys.Of(op))}
	t.ID, t.Name = "loadbalancer/"+t.Addr, "load balancer "+t.Addr
	switch {
	case p.IP == "":
		fault("ssh_ip", "", "is required")
	case t.Addr == "":
		fault("ssh_ip", p.IP, "must be an address or a host name, with a port or without: 192.0.2.10, lb.example:2222, [2001:db8::5]:22")
	}
	if p.HostKey != "" {
		policy, err := sshexec.PinnedHostKeys(p.HostKey)
		if err != nil {
			fault("host_key", "", "must be a public key in authorized_keys form, as ssh-keyscan writes it after the host name")
		}
		t.HostKeys = policy
	}
	var err error
	t.Auth, err = login.Login(p.SSH).Auth("ssh_")
	return t, errors.Join(append(faults, err)...)
}

var hostForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?)*$`)

// address returns host:port, "" if the text is not an address.
func address(text string) string {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), "22"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	ip, notIP := netip.ParseAddr(host)
	if err != nil || n == 0 || len(host) > 253 || notIP != nil && !hostForm.MatchString(host) || notIP == nil && ip.Zone() != "" {
		return ""
	}
	return net.JoinHostPort(host, port)
}
