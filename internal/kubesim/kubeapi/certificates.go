package kubeapi

import (
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/netip"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// issue has the CA of the cluster sign a certificate.
func (c *Cluster) issue(template *x509.Certificate, now time.Time) (certPEM, keyPEM string, err error) {
	template.KeyUsage = x509.KeyUsageDigitalSignature
	pair, err := pki.Issue(&pki.Pair{Cert: c.CA, Key: c.CAKey}, template, now)
	return pair.Cert, pair.Key, err
}

// ServerCertificate makes a certificate for an API server, with the names that kubeadm puts into it.
func (c *Cluster) ServerCertificate(node string, address netip.Addr, now, until time.Time) (pki.Pair, error) {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "kube-apiserver"}, NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", node}}
	names := append([]string{"10.96.0.1", address.String()}, c.CertSANs...)
	if host, _, err := net.SplitHostPort(c.Endpoint); err == nil {
		names = append(names, host)
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	cert, key, err := c.issue(template, now)
	return pki.Pair{Cert: cert, Key: key}, err
}

// Administrators is the group that admin.conf is of (kubeadm, since 1.29).
const Administrators = "kubeadm:cluster-admins"

// kubeconfig is a file by which the API is reached (k8s.io/client-go/tools/clientcmd/api/v1).
type kubeconfig struct {
	APIVersion     string              `yaml:"apiVersion"`
	Kind           string              `yaml:"kind"`
	CurrentContext string              `yaml:"current-context"`
	Clusters       []kubeconfigCluster `yaml:"clusters"`
	Contexts       []kubeconfigContext `yaml:"contexts"`
	Users          []kubeconfigUser    `yaml:"users"`
}

type kubeconfigCluster struct {
	Name    string `yaml:"name"`
	Cluster struct {
		CA     string `yaml:"certificate-authority-data"`
		Server string `yaml:"server"`
	} `yaml:"cluster"`
}

type kubeconfigContext struct {
	Name    string            `yaml:"name"`
	Context map[string]string `yaml:"context"`
}

type kubeconfigUser struct {
	Name string `yaml:"name"`
	User struct {
		Cert string `yaml:"client-certificate-data"`
		Key  string `yaml:"client-key-data"`
	} `yaml:"user"`
}

// Kubeconfig makes a file with a client certificate for that user.
func (c *Cluster) Kubeconfig(name, group string, now, until time.Time) (string, error) {
	cert, key, err := c.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{group}}, NotAfter: until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, now)
	if err != nil {
		return "", err
	}
	cluster, user := kubeconfigCluster{Name: "kubernetes"}, kubeconfigUser{Name: name}
	cluster.Cluster.CA, cluster.Cluster.Server = encode(c.CA), "https://"+c.Endpoint
	user.User.Cert, user.User.Key = encode(cert), encode(key)
	k := kubeconfig{APIVersion: "v1", Kind: "Config", CurrentContext: name + "@kubernetes",
		Clusters: []kubeconfigCluster{cluster}, Users: []kubeconfigUser{user},
		Contexts: []kubeconfigContext{{name + "@kubernetes", map[string]string{"cluster": "kubernetes", "user": name}}}}
	out, err := yaml.Marshal(k)
	return string(out), err
}

// ReadKubeconfig returns the CA of the one cluster of a kubeconfig, and the certificate of its one user (base64).
func ReadKubeconfig(config []byte) (ca, client string, err error) {
	var k kubeconfig
	if err := yaml.Unmarshal(config, &k); err != nil || len(k.Clusters) != 1 || len(k.Users) != 1 {
		return "", "", errors.Join(errors.New("error loading config file: invalid configuration"), err)
	}
	pem, err := base64.StdEncoding.DecodeString(k.Clusters[0].Cluster.CA)
	return string(pem), k.Users[0].User.Cert, err
}

// UserOf returns the certificate and the key of the one user of a kubeconfig (PEM).
func UserOf(config []byte) (cert, key string, err error) {
	var k kubeconfig
	if err := yaml.Unmarshal(config, &k); err != nil || len(k.Users) != 1 {
		return "", "", errors.Join(errors.New("error loading config file: invalid configuration"), err)
	}
	decodedCert, err1 := base64.StdEncoding.DecodeString(k.Users[0].User.Cert)
	decodedKey, err2 := base64.StdEncoding.DecodeString(k.Users[0].User.Key)
	return string(decodedCert), string(decodedKey), errors.Join(err1, err2)
}

// ClientCAs verify the certificates of clients.
func (c *Cluster) ClientCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(c.CA))
	return pool
}

// Accepts fails if the cluster does not accept a client with that certificate (base64).
func (c *Cluster) Accepts(cert string) error {
	text, err := base64.StdEncoding.DecodeString(cert)
	if err != nil {
		return err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return errors.New("error: tls: failed to find any PEM data in certificate input")
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err
	}
	_, err = parsed.Verify(x509.VerifyOptions{Roots: c.ClientCAs(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return err
}

// CAHash is the pin that kubeadm join takes.
func (c *Cluster) CAHash() string {
	block, _ := pem.Decode([]byte(c.CA))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

type jsonObject = json.RawMessage
