package kubesim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
)

func kubeadm(ctx context.Context, c *call) error {
	if len(c.args) > 0 && c.args[0] == "version" {
		c.printf("v%s\n", DefaultVersion)
		return nil
	}
	if words := []string{"config", "images", "list", "--kubernetes-version"}; len(c.args) == 5 && slices.Equal(c.args[:4], words) {
		c.printf("registry.k8s.io/kube-apiserver:%s\nregistry.k8s.io/pause:3.10.1\nregistry.k8s.io/etcd:3.6.5-0\n", c.args[4])
		return nil
	}
	if err := c.root(); err != nil {
		return err
	}
	for _, verb := range []struct {
		words string
		run   func(context.Context, []string) error
	}{
		{"init phase upload-certs", c.uploadCerts}, {"init", c.init}, {"join", c.join}, {"reset", c.reset},
		{"token create", c.tokenCreate}, {"token list", c.tokenList},
	} {
		words := strings.Fields(verb.words)
		if len(c.args) >= len(words) && slices.Equal(words, c.args[:len(words)]) {
			return verb.run(ctx, c.args[len(words):])
		}
	}
	return fmt.Errorf("error: unknown command %q for \"kubeadm\"", strings.Join(c.args, " "))
}

// preflight is what kubeadm checks of a machine before it makes it a node.
func (c *call) preflight(m *machine, ignore []string, configFiles ...string) error {
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
	if !m.Services["containerd"] {
		fault("CRI]: container runtime is not running: connect: no such file or directory")
	}
	if m.Packages["kubelet"] == "" {
		fault("FileExisting-kubelet]: kubelet not found in system path")
	}
	for _, name := range configFiles {
		if c.exists(name) {
			fault("FileAvailable-%s]: %s already exists", strings.ReplaceAll(name, "/", "-"), name)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.New("[preflight] Some fatal errors occurred:\n" + strings.Join(faults, "\n"))
}

var nodeNames = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// init makes a cluster. It works in two stages that a crash can part: files first, then the cluster.
func (c *call) init(ctx context.Context, args []string) error {
	o, err := c.initOptions(args)
	if err != nil {
		return err
	}
	err = c.on(func(m *machine) error {
		if err := o.check(m); err != nil {
			return err
		}
		return c.preflight(m, o.ignore, "/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/manifests/etcd.yaml")
	})
	if err != nil {
		return err
	}
	id := randomHex(4)
	ca, err := newCA(c.w.nowFunc())
	if err != nil {
		return err
	}
	for name, content := range map[string]string{
		"/etc/kubernetes/pki/ca.crt": ca, "/etc/kubernetes/kubelet.conf": id, "/etc/kubernetes/admin.conf": id,
		"/etc/kubernetes/manifests/kube-apiserver.yaml": id, "/etc/kubernetes/manifests/etcd.yaml": id,
	} {
		if err := c.write(name, content, 0o600); err != nil {
			return err
		}
	}
	if err := c.w.take(ctx); err != nil {
		return err
	}
	err = c.on(func(m *machine) error {
		m.Cluster, m.Node, m.Services["kubelet"] = id, o.name, true
		c.w.state.Clusters[id] = &cluster{ID: id, CA: ca, Version: DefaultVersion, Endpoint: o.endpoint, PodCIDR: o.podCIDR,
			Nodes:   map[string]*node{o.name: {Name: o.name, Machine: m.ID, Address: m.Address, ControlPlane: true}},
			Members: []string{m.ID}, Tokens: map[string]time.Time{o.token: c.w.nowFunc().Add(o.ttl)}, CertKeys: map[string]time.Time{},
			Objects: map[string]jsonObject{"DaemonSet/kube-system/kube-proxy": jsonObject(`{"kind":"DaemonSet","metadata":{"name":"kube-proxy","namespace":"kube-system"}}`)}}
		return nil
	})
	if err != nil {
		return err
	}
	c.printf("Your Kubernetes control-plane has initialized successfully!\n\nkubeadm join %s --token %s\n", o.endpoint, o.token)
	return nil
}

// certificateTTL is how long the certificates stay that upload-certs put into the cluster.
const certificateTTL = 2 * time.Hour

func (c *call) uploadCerts(_ context.Context, args []string) error {
	if _, err := c.flags(args, func(f *pflag.FlagSet) { f.Bool("upload-certs", false, "") }); err != nil {
		return err
	}
	key := randomHex(32)
	err := c.asAdmin("/etc/kubernetes/admin.conf", func(cl *cluster) error {
		cl.CertKeys[key] = c.w.nowFunc().Add(certificateTTL)
		return nil
	})
	if err == nil {
		c.printf("[upload-certs] Storing the certificates in Secret \"kubeadm-certs\" in the \"kube-system\" Namespace\n[upload-certs] Using certificate key:\n%s\n", key)
	}
	return err
}

func (c *call) tokenCreate(_ context.Context, args []string) error {
	var ttl time.Duration
	var printJoin bool
	var config string
	rest, err := c.flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&config, "config", "", "")
		f.DurationVar(&ttl, "ttl", 24*time.Hour, "")
		f.BoolVar(&printJoin, "print-join-command", false, "")
		f.String("description", "", "")
	})
	if err != nil {
		return err
	}
	token := newToken()
	if len(rest) > 0 {
		token = rest[0]
	}
	if config != "" {
		o := &initOptions{}
		if err := c.readConfig(config, map[string]any{"InitConfiguration": &initFile{o}}); err != nil {
			return err
		}
		token, ttl = o.token, o.ttl
	}
	return c.asAdmin("/etc/kubernetes/admin.conf", func(cl *cluster) error {
		cl.Tokens[token] = c.w.nowFunc().Add(ttl)
		if printJoin {
			c.printf("kubeadm join %s --token %s --discovery-token-ca-cert-hash %s \n", cl.Endpoint, token, cl.caHash())
		} else {
			c.printf("%s\n", token)
		}
		return nil
	})
}

// tokenList prints one object after the other, as kubeadm does.
func (c *call) tokenList(_ context.Context, args []string) error {
	if !slices.Equal(args, []string{"-o", "json"}) {
		return fmt.Errorf("kubesim: token list %q is not simulated", args)
	}
	return c.asAdmin("/etc/kubernetes/admin.conf", func(cl *cluster) error {
		for token := range cl.Tokens {
			c.printf("{\n  \"kind\": \"BootstrapToken\",\n  \"token\": %q\n}\n", token)
		}
		return nil
	})
}

// join makes the machine a node of the cluster at the endpoint.
func (c *call) join(ctx context.Context, args []string) error {
	o, err := c.joinOptions(args)
	if err != nil {
		return err
	}
	err = c.on(func(m *machine) error {
		if err := c.preflight(m, o.ignore, "/etc/kubernetes/kubelet.conf", "/etc/kubernetes/pki/ca.crt"); err != nil {
			return err
		}
		if o.controlPlane && o.advertise != m.Address.String() {
			return fmt.Errorf("unable to select an IP: %q is no address of this machine", o.advertise)
		}
		_, err := c.admitted(o, m)
		return err
	})
	if err != nil {
		return err
	}
	if o.controlPlane {
		leave, err := c.enterEtcd(o)
		if err != nil {
			return err
		}
		defer leave()
	}
	if err := c.write("/etc/kubernetes/kubelet.conf", "joining", 0o600); err != nil {
		return err
	}
	if err := c.w.take(ctx); err != nil {
		return err
	}
	return c.on(func(m *machine) error { return c.joined(o, m) })
}

func (c *call) joined(o *joinOptions, m *machine) error {
	cl, err := c.admitted(o, m)
	if err != nil {
		return err
	}
	files := map[string]string{"/etc/kubernetes/kubelet.conf": cl.ID, "/etc/kubernetes/pki/ca.crt": cl.CA}
	if o.controlPlane {
		cl.Members = append(cl.Members, m.ID)
		for _, name := range []string{"admin.conf", "manifests/kube-apiserver.yaml", "manifests/etcd.yaml"} {
			files["/etc/kubernetes/"+name] = cl.ID
		}
	}
	for name, content := range files {
		if err := c.write(name, content, 0o600); err != nil {
			return err
		}
	}
	m.Cluster, m.Node, m.Services["kubelet"] = cl.ID, o.name, true
	cl.Nodes[o.name] = &node{Name: o.name, Machine: m.ID, Address: m.Address, ControlPlane: o.controlPlane}
	c.printf("This node has joined the cluster\n")
	return nil
}

// admitted checks credentials as the cluster does.
func (c *call) admitted(o *joinOptions, m *machine) (*cluster, error) {
	cl, err := c.w.reach(o.endpoint)
	if err != nil {
		return nil, fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: %w", err)
	}
	now := c.w.nowFunc()
	if expires, known := cl.Tokens[o.token]; !known || !expires.After(now) {
		id, _, _ := strings.Cut(o.token, ".")
		return nil, fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: "+
			"could not find a JWS signature in the cluster-info ConfigMap for token ID %q", id)
	}
	if o.hash != cl.caHash() {
		return nil, errors.New("error execution phase preflight: couldn't validate the identity of the API Server: " +
			"cluster CA found in cluster-info ConfigMap is invalid: none of the public keys are pinned")
	}
	if o.controlPlane {
		if expires, known := cl.CertKeys[o.certKey]; !known || !expires.After(now) {
			return nil, errors.New("error execution phase control-plane-prepare/download-certs: error downloading certs: the Secret does not include the required certificate or cannot be decrypted")
		}
	}
	if n := cl.Nodes[o.name]; n != nil && n.Machine != m.ID {
		return nil, fmt.Errorf("error execution phase kubelet-start: a Node with name %q and status \"Ready\" already exists in the cluster", o.name)
	}
	return cl, nil
}

// enterEtcd adds the learner: etcd takes one at a time.
func (c *call) enterEtcd(o *joinOptions) (leave func(), err error) {
	err = c.on(func(*machine) error {
		cl, err := c.w.reach(o.endpoint)
		if err != nil {
			return err
		}
		if c.w.inFlight[cl.ID] {
			return errors.New("error execution phase control-plane-join/etcd: etcdserver: too many learner members in cluster")
		}
		c.w.inFlight[cl.ID] = true
		leave = func() {
			c.w.mu.Lock()
			defer c.w.mu.Unlock()
			delete(c.w.inFlight, cl.ID)
		}
		return nil
	})
	return leave, err
}

func (c *call) reset(_ context.Context, args []string) error {
	if _, err := c.flags(args, func(f *pflag.FlagSet) {
		f.BoolP("force", "f", false, "")
	}); err != nil {
		return err
	}
	for _, name := range []string{"manifests", "pki", "admin.conf", "kubelet.conf"} {
		if err := c.process.FS.RemoveAll("/etc/kubernetes/" + name); err != nil {
			return err
		}
	}
	return c.on(func(m *machine) error {
		if cl := c.w.state.Clusters[m.Cluster]; cl != nil && len(cl.Members) > 1 && c.w.quorate(cl) {
			cl.Members = slices.DeleteFunc(cl.Members, func(id string) bool { return id == m.ID })
		} else if cl != nil && slices.Contains(cl.Members, m.ID) {
			delete(c.w.state.Clusters, cl.ID) // the last member takes the data with it
		}
		m.Cluster, m.Node, m.Services["kubelet"] = "", "", false
		return nil
	})
}

// asAdmin runs fn with the cluster that a kubeconfig leads to, if its API answers.
func (c *call) asAdmin(kubeconfig string, fn func(*cluster) error) error {
	id, err := afero.ReadFile(c.process.FS, kubeconfig)
	if err != nil {
		return fmt.Errorf("error loading config file %q: %w", kubeconfig, err)
	}
	return c.on(func(*machine) error {
		cl := c.w.state.Clusters[string(id)]
		if cl == nil {
			return errors.New("The connection to the server was refused - did you specify the right host or port?")
		}
		if !c.w.quorate(cl) {
			return errors.New("Error from server: etcdserver: request timed out")
		}
		return fn(cl)
	})
}

func splitEndpoint(endpoint string) (netip.Addr, error) {
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("invalid endpoint %q: %w", endpoint, err)
	}
	return netip.ParseAddr(host)
}
