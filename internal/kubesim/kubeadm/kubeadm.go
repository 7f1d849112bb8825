// Package kubeadm simulates the program: init, join, reset, upgrade, tokens, certificates with their renewal, and kubeconfigs of users, with the members of etcd that it adds and removes.
// It refuses what kubeadm refuses of a machine, of its arguments (package kubeadmconf) and of credentials, and every other command. A
// join of a control-plane node that is cut short leaves its etcd member, as with kubeadm.
package kubeadm

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadmconf"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// Cluster is a cluster that kubeadm has made.
type Cluster struct {
	*kubeapi.Cluster
	Etcd        etcd.Cluster         `json:"etcd"`
	CertKeys    map[string]time.Time `json:"certKeys"`
	CertsTokens []string             `json:"certsTokens,omitempty"` // those that upload-certs has made
	Validity    time.Duration        `json:"validity,omitempty"`    // of certificates
	Applied     map[string]string    `json:"applied,omitempty"`     // machines on which "kubeadm upgrade apply" has run, by version
	Accounts    pki.Pair             `json:"accounts,omitzero"`     // key of the service accounts: its public part is Cert

	FrontProxy pki.Pair `json:"frontProxy,omitzero"` // CA of the API server for servers of the aggregation layer

	given map[string]any // ClusterConfiguration of the init that makes the cluster
}

// Machine is what kubeadm finds on a machine.
type Machine struct {
	ID               string
	Address          netip.Addr
	SwapOff, Forward bool   // swap, and forwarding of IP packets
	Runtime, Kubelet bool   // whether containerd runs, and the kubelet is installed
	Kubeadm          string // version of kubeadm
	Images           []string
	Offline          bool // no image can be pulled from a public registry
}

// World is the machine on which kubeadm runs, and the clusters. All but the first five are called by what On and AsAdmin run.
type World interface {
	ID() string // of the machine
	Now() time.Time
	Takes() time.Duration                                     // of an init or a join
	On(fn func(Machine) error) error                          // runs fn while nothing else changes
	AsAdmin(kubeconfig string, fn func(*Cluster) error) error // in the same way, with the cluster of a kubeconfig file if it answers

	Reach(endpoint string) (*Cluster, error)
	Running(cl *Cluster) etcd.Running
	Found(cl *Cluster)
	Forget(cl *Cluster)
	Enter(clusterID, node string) // the kubelet of the machine starts, as that of a node
	Leave()                       // it ends
	Unmirror(component string)    // it asks the API to delete the mirror pod of a manifest that has been moved away
	Cluster() *Cluster            // the one that the machine has entered, or nil
	HasMember() bool              // whether an etcd has a member on the machine

	Exists(machine string) bool
	Ready(cl *Cluster, n *kubeapi.Node) bool
	APIServers(cl *Cluster) map[string]string // versions of the API servers by the names of their nodes
	KubeletVersion(n *kubeapi.Node) string    // of the kubelet that runs on a node
	CheckKubelet(cl *Cluster) error           // whether the kubelet of this machine may start as that of a new node
}

// call is one run of kubeadm.
type call struct {
	*program.Call
	w World
}

// Run runs kubeadm.
func Run(ctx context.Context, p *program.Call, w World) error {
	c := &call{p, w}
	if len(c.Args) > 0 && c.Args[0] == "version" {
		return c.w.On(func(m Machine) error { c.Printf("v%s\n", m.Kubeadm); return nil })
	}
	if words := []string{"config", "images", "list"}; len(c.Args) > 3 && slices.Equal(c.Args[:3], words) {
		return c.listImages(c.Args[3:])
	}
	if err := c.Root(); err != nil {
		return err
	}
	for _, verb := range []struct {
		words string
		run   func(context.Context, []string) error
	}{
		{"init phase upload-certs", c.uploadCerts}, {"init", c.init}, {"join", c.join}, {"config validate", func(_ context.Context, args []string) error { return c.validate(args) }}, {"reset", c.reset},
		{"kubeconfig user", func(_ context.Context, args []string) error { return c.kubeconfigOf(args) }},
		{"certs renew all", func(_ context.Context, args []string) error { return c.renewCertificates(args) }},
		{"upgrade apply", c.upgradeApply}, {"upgrade node", c.upgradeNode},
		{"token create", c.tokenCreate}, {"token list", c.tokenList},
	} {
		words := strings.Fields(verb.words)
		if len(c.Args) >= len(words) && slices.Equal(words, c.Args[:len(words)]) {
			return verb.run(ctx, c.Args[len(words):])
		}
	}
	return fmt.Errorf("error: unknown command %q for \"kubeadm\"", strings.Join(c.Args, " "))
}

// preflight is what kubeadm checks of a machine before it makes it a node.
func (c *call) preflight(m Machine, ignore []string, configFiles ...string) error {
	var faults []string
	fault := func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if name, _, _ := strings.Cut(text, "]"); !slices.ContainsFunc(ignore, func(i string) bool { return strings.EqualFold(i, name) }) {
			faults = append(faults, "\t[ERROR "+text)
		}
	}
	if !m.SwapOff {
		fault("Swap]: running with swap on is not supported. Please disable swap")
	}
	if !m.Forward {
		fault("FileContent--proc-sys-net-ipv4-ip_forward]: /proc/sys/net/ipv4/ip_forward contents are not set to 1")
	}
	if !m.Runtime {
		fault("CRI]: container runtime is not running: connect: no such file or directory")
	}
	if !m.Kubelet {
		fault("FileExisting-kubelet]: kubelet not found in system path")
	}
	for _, name := range configFiles {
		switch {
		case !c.Exists(name):
		case name == etcdData:
			fault("DirAvailable--var-lib-etcd]: /var/lib/etcd is not empty")
		default:
			fault("FileAvailable-%s]: %s already exists", strings.ReplaceAll(name, "/", "-"), name)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New("[preflight] Some fatal errors occurred:\n" + strings.Join(faults, "\n"))
}

// init makes a cluster. It works in two stages that a crash can part: files first, then the cluster.
func (c *call) init(ctx context.Context, args []string) error {
	o, err := kubeadmconf.ReadInit(c.Call, args)
	if err != nil {
		return err
	}
	var version string
	err = c.w.On(func(m Machine) error {
		version = m.Kubeadm
		if err := o.Check(m.Address, version); err != nil {
			return err
		}
		if err := c.hasImages(m, o.Settings, version, o.Ignore); err != nil {
			return err
		}
		return c.preflight(m, o.Ignore, "/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/manifests/etcd.yaml", etcdData)
	})
	if err != nil {
		return err
	}
	cl, err := newCluster(o, version, c.w.Now())
	if err != nil {
		return err
	}
	address, err := netip.ParseAddr(o.Advertise)
	if err != nil {
		return err
	}
	if cl.Etcd, err = etcd.New(c.w.ID(), o.Name, address, c.w.Now()); err != nil {
		return err
	}
	restored, err := c.continued(cl)
	if err != nil {
		return err
	}
	if err := c.writeEtcdFiles(cl, o.Name, o.Advertise); err != nil {
		return err
	}
	if err := c.writeFiles(cl, Machine{Address: address, Kubeadm: version}, node{o.Name, true, o.Patches}); err != nil {
		return err
	}
	if err := program.Pause(ctx, c.w.Takes()); err != nil {
		return err
	}
	err = c.w.On(func(m Machine) error {
		if err := c.beginEtcd(cl, restored, m); err != nil {
			return err
		}
		c.w.Enter(cl.ID, o.Name)
		c.w.Found(cl)
		if err := cl.AddNode(&kubeapi.Node{Name: o.Name, Machine: m.ID, Address: m.Address, ControlPlane: true}); err != nil {
			return err
		}
		if err := c.throughEndpoint(cl); err != nil {
			return err
		}
		return cl.uploadConfig()
	})
	if err != nil {
		return err
	}
	c.Printf("Your Kubernetes control-plane has initialized successfully!\n\nkubeadm join %s --token %s\n", o.Endpoint, o.Token)
	return nil
}

// throughEndpoint checks that a new control plane can be reached at its endpoint, through which kubeadm uploads its
// configuration (kubeadm, phases upload-config and following).
func (c *call) throughEndpoint(cl *Cluster) error {
	found, err := c.w.Reach(cl.Endpoint)
	if err == nil && found != cl {
		err = errors.New("x509: certificate signed by unknown authority")
	}
	if err != nil {
		c.w.Forget(cl)
		c.w.Leave()
		return fmt.Errorf("error execution phase upload-config/kubeadm: failed to create or update the ConfigMap kubeadm-config: Post \"https://%s/api/v1/namespaces/kube-system/configmaps\": %w", cl.Endpoint, err)
	}
	return nil
}

// uploadConfig stores the configuration of the cluster where kubeadm looks for it (kubeadm, phases upload-config).
func (cl *Cluster) uploadConfig() error {
	config := map[string]any{"networking": map[string]any{"podSubnet": cl.PodCIDR}}
	maps.Copy(config, cl.given)
	maps.Copy(config, map[string]any{"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "kubernetesVersion": "v" + cl.Version,
		"controlPlaneEndpoint": cl.Endpoint, "certificateValidityPeriod": cl.validity().String()})
	return cl.upload(config)
}

// settings returns the configuration of the cluster: that in the cluster or, of a new cluster, that of init.
func (cl *Cluster) settings() map[string]any {
	if stored, err := cl.stored(); err == nil {
		return stored
	}
	return cl.given
}

// newCluster makes the cluster of an init. It is not yet one of the world.
func newCluster(o *kubeadmconf.InitOptions, version string, now time.Time) (*Cluster, error) {
	api, err := kubeapi.New(kubeapi.Options{Version: version, Endpoint: o.Endpoint, PodCIDR: o.PodCIDR, CertSANs: o.CertSANs, Images: repositoryOf(o.Settings)}, now)
	if err != nil {
		return nil, err
	}
	api.Tokens[o.Token] = now.Add(o.TTL)
	accounts, err1 := pki.NewKey()
	front, err2 := pki.NewCA("front-proxy-ca", now)
	api.Signer = accounts.Cert
	return &Cluster{FrontProxy: front, Cluster: api, CertKeys: map[string]time.Time{}, Validity: o.Validity, Accounts: accounts, given: o.Settings}, errors.Join(err1, err2)
}

// node is a node that init or join makes.
type node struct {
	name         string
	controlPlane bool
	patches      string // folder
}

// writeFiles leaves on the machine what kubeadm does, for a control-plane node or a worker.
func (c *call) writeFiles(cl *Cluster, m Machine, n node) error {
	u, err := c.customize(cl.settings(), n.patches)
	if err != nil {
		return err
	}
	files := map[string]string{"kubelet.conf": cl.ID, "pki/ca.crt": cl.CA}
	if n.controlPlane {
		more, err := c.controlPlaneFiles(cl, m, n.name, u)
		if err != nil {
			return err
		}
		maps.Copy(files, more)
	}
	for name, content := range files {
		if err := c.Write(directory+name, content, 0o600); err != nil {
			return err
		}
	}
	if err := c.Write(KubeletFlags, "KUBELET_KUBEADM_ARGS=\"--node-ip="+m.Address.String()+"\"\n", 0o644); err != nil {
		return err
	}
	if n.patches != "" {
		if err := u.writeKubelet(m.Kubeadm); err != nil {
			return err
		}
	}
	return c.writeKubeletFile(cl, n.name)
}

// certificateTTL is how long the certificates stay that upload-certs put into the cluster.
const certificateTTL = 2 * time.Hour

func (c *call) uploadCerts(_ context.Context, args []string) error {
	if _, err := c.Flags(args, func(f *pflag.FlagSet) { f.Bool("upload-certs", false, "") }); err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	err := c.w.AsAdmin("/etc/kubernetes/admin.conf", func(cl *Cluster) error {
		expires := c.w.Now().Add(certificateTTL)
		cl.CertKeys[hex.EncodeToString(key)] = expires
		// The certificates end with a token that is made to own them (kubeadm, phases/copycerts), which is as good
		// as any other to join with.
		token := kubeadmconf.NewToken()
		cl.Tokens[token], cl.CertsTokens = expires, append(cl.CertsTokens, token)
		return cl.Store(kubeapi.Kind{Version: "v1", Kind: "Secret", Plural: "secrets", Namespaced: true}, kubeapi.Object{"metadata": kubeapi.Object{"name": "kubeadm-certs", "namespace": "kube-system"}})
	})
	if err == nil {
		c.Printf("[upload-certs] Storing the certificates in Secret \"kubeadm-certs\" in the \"kube-system\" Namespace\n[upload-certs] Using certificate key:\n%x\n", key)
	}
	return err
}

func (c *call) tokenCreate(_ context.Context, args []string) error {
	var ttl time.Duration
	var printJoin bool
	var config string
	rest, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&config, "config", "", "")
		f.DurationVar(&ttl, "ttl", 24*time.Hour, "")
		f.BoolVar(&printJoin, "print-join-command", false, "")
		f.String("description", "", "")
	})
	if err != nil {
		return err
	}
	token := kubeadmconf.NewToken()
	if len(rest) > 0 {
		token = rest[0]
	}
	if config != "" {
		f, err := kubeadmconf.ReadFile(c.Call, config)
		if err != nil {
			return err
		}
		if f.Init == nil || len(f.Init.BootstrapTokens) == 0 {
			return errors.New("kubesim: token create takes a configuration with a token")
		}
		token, ttl = f.Init.BootstrapTokens[0].Token, f.Init.BootstrapTokens[0].TTL.Duration
	}
	return c.w.AsAdmin("/etc/kubernetes/admin.conf", func(cl *Cluster) error {
		cl.Tokens[token] = c.w.Now().Add(ttl)
		if printJoin {
			c.Printf("kubeadm join %s --token %s --discovery-token-ca-cert-hash %s \n", cl.Endpoint, token, cl.CAHash())
		} else {
			c.Printf("%s\n", token)
		}
		return nil
	})
}

// tokenList prints one object after the other, as kubeadm does.
func (c *call) tokenList(_ context.Context, args []string) error {
	if !slices.Equal(args, []string{"-o", "json"}) {
		return fmt.Errorf("kubesim: token list %q is not simulated", args)
	}
	return c.w.AsAdmin("/etc/kubernetes/admin.conf", func(cl *Cluster) error {
		for token := range cl.Tokens {
			description := ""
			if slices.Contains(cl.CertsTokens, token) {
				description = "Proxy for managing TTL for the kubeadm-certs secret"
			}
			c.Printf("{\n  \"kind\": \"BootstrapToken\",\n  \"description\": %q,\n  \"token\": %q\n}\n", description, token)
		}
		return nil
	})
}
