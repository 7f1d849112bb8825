package registry_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// faults are the errors of a request, without where most attributes are, in order.
func faults(err error) (out []string) {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			out = append(out, faults(e)...)
		}
		slices.Sort(out)
		return out
	}
	if _, ok := err.(*vnflcm.ParamError); !ok { //nolint:errorlint // the error itself
		if inner := errors.Unwrap(err); inner != nil {
			return faults(inner)
		}
	}
	return []string{strings.TrimPrefix(err.Error(), "additionalParams.private_registry_installation_param.")}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	certificate, key, ca := issued(t, "registry.example.org")
	other, _, _ := issued(t, "other.example.org")
	l := newLab(t, setup{files: map[string]string{"Files/tls.crt": certificate, "Files/tls.key": key, "Files/ca.crt": ca, "Files/other.crt": other,
		"Files/text": "no archive", "Files/key.asc": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"}})
	for name, c := range map[string]struct {
		patch string
		want  []string
	}{
		"nothing": {`null`, []string{"ssh_cp_name: is required", "ssh_password: is required, unless there is a ssh_private_key", "ssh_username: is required"}},
		"login": {`{"ssh_cp_name":"CP9","ssh_username":"","ssh_password":""}`, []string{
			`ssh_cp_name: "CP9": the flavour has no such connection point; VDUs have CP1`, "ssh_password: is required, unless there is a ssh_private_key", "ssh_username: is required"}},
		"host keys": {`{"ssh_host_keys":["canary"]}`, []string{"ssh_host_keys[0]: must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub"}},
		"image": {`{"image":"Registry:latest","image_path":"Files/none.tar"}`, []string{
			`image: "Registry:latest": must be the name of an image, such as registry:2`, `image_path: "Files/none.tar": the package has no such file`}},
		"no archive":        {`{"image_path":"Files/text"}`, []string{`image_path: "Files/text": is no archive: "docker save" makes one`}},
		"port":              {`{"port_no":"70000"}`, []string{`port_no: "70000": must be a number from 1 to 65535`}},
		"port 0":            {`{"port_no":0}`, []string{`port_no: "0": must be a number from 1 to 65535`}},
		"port of SSH":       {`{"port_no":22}`, []string{`port_no: "22": is the one of SSH`}},
		"port is no number": {`{"port_no":"five"}`, []string{`port_no: "five": must be a whole number`}},
		"proxy": {`{"proxy":{"http_proxy":"ftp://u:canary@p","https_proxy":"http://p:99999","no_proxy":"a\"b"}}`, []string{
			"proxy.http_proxy: must begin with http:// or https://", "proxy.https_proxy: the port is not a number from 1 to 65535",
			"proxy.no_proxy: may hold names, addresses and networks, separated by commas, and nothing else"}},
		"packages": {`{"packages":{"source":"image","repository_url":"https://x/","docker_package":"podman","docker_version":"1;id"}}`, []string{
			`packages.docker_package: "podman": must be docker.io or docker-ce`,
			`packages.docker_version: "1;id": must be a version of the package, such as 20.10.24* or 5:27.3.1-1~debian.12~bookworm`,
			"packages.repository_url: has no effect with packages.source image"}},
		"repository": {`{"packages":{"source":"repository"}}`, []string{
			"packages.repository_key_path: is required: packages are installed only when their signature is right",
			"packages.repository_url: is required"}},
		"installed": {`{"packages":{"source":"installed","docker_version":"20"}}`, []string{
			`packages.docker_version: "20": neither it nor docker_package has an effect with packages.source installed`}},
		"source":                    {`{"packages":{"source":"internet"}}`, []string{`packages.source: "internet": must be image, repository or installed`}},
		"server name":               {`{"server_name":"Registry.example.org"}`, []string{`server_name: "Registry.example.org": must be a host name, such as registry.example.com`}},
		"server name is an address": {`{"server_name":"10.0.0.1"}`, []string{`server_name: "10.0.0.1": must be a host name, such as registry.example.com`}},
		"tls without a key": {`{"tls":{"certificate_path":"Files/tls.crt"}}`, []string{
			"tls.key_path: is required: certificate_path and key_path go together"}},
		"tls without files": {`{"tls":{"certificate_path":"Files/a","key_path":"Files/b","ca_path":"Files/c"}}`, []string{
			`tls.ca_path: "Files/c": the package has no such file`, `tls.certificate_path: "Files/a": the package has no such file`, `tls.key_path: "Files/b": the package has no such file`}},
		"tls of a made certificate": {`{"tls":{"ca_path":"Files/ca.crt"}}`, []string{
			`tls.ca_path: "Files/ca.crt": has no effect on a certificate that is made for the registry: its CA is made too`}},
		"tls with another key": {`{"tls":{"certificate_path":"Files/other.crt","key_path":"Files/tls.key"}}`, []string{
			`tls.certificate_path: "Files/other.crt": does not match key_path: tls: private key does not match public key`}},
		"tls of nobody": {`{"tls":{"certificate_path":"Files/tls.crt","key_path":"Files/tls.key"}}`, []string{
			`tls.certificate_path: "Files/tls.crt": is signed by no CA that is trusted here: ca_path must name the one that signed it`}},
		"tls of another CA": {`{"tls":{"certificate_path":"Files/tls.crt","key_path":"Files/tls.key","ca_path":"Files/text"}}`, []string{
			`tls.ca_path: "Files/text": must hold CA certificates in PEM form (-----BEGIN CERTIFICATE-----)`}},
		"tls of another name": {`{"server_name":"elsewhere.example.org","tls":{"certificate_path":"Files/tls.crt","key_path":"Files/tls.key","ca_path":"Files/ca.crt"}}`, []string{
			`tls.certificate_path: "Files/tls.crt": x509: certificate is valid for registry.example.org, not elsewhere.example.org`}},
		"users": {`{"users":[{"username":"a:b","password":"x"},{"username":"a","password":""},{"username":"a","password":"` + strings.Repeat("x", 73) + `"},{}]}`, []string{
			"users[0].username: may hold neither a colon nor control characters, begin neither with # nor with a blank, and be no longer than 255 bytes",
			"users[1].password: is required", "users[2].password: may hold no control characters, and no more than 72 bytes",
			`users[2].username: "a": is the one of users[1] too`, "users[3].password: is required", "users[3].username: is required"}},
		"volume": {`{"volume":{"path":"/srv/../etc","device":"/dev/../etc/passwd"}}`, []string{
			`volume.device: "/dev/../etc/passwd": must be a block device, such as /dev/vdb or /dev/disk/by-id/virtio-0a1b2c3d`,
			`volume.path: "/srv/../etc": must be an absolute path of letters, digits, -, _ and .`}},
		"volume of the system": {`{"volume":{"path":"/var"}}`, []string{`volume.path: "/var": belongs to the system: give a separate directory, such as /private_registry`}},
		"volume in the system": {`{"volume":{"path":"/etc/registry"}}`, []string{`volume.path: "/etc/registry": belongs to the system: give a separate directory, such as /private_registry`}},
		"two volumes":          {`{"volume":{"device":"/dev/vdb","volume_resource_id":"images"}}`, []string{`volume.device: "/dev/vdb": cannot be combined with volume_resource_id: give one of them`}},
		"volume for Docker":    {`{"volume":{"path":"/a:/etc"}}`, []string{`volume.path: "/a:/etc": must be an absolute path of letters, digits, -, _ and .`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := l.Begin("instantiate.json", with(t, c.patch))
			if diff := cmp.Diff(c.want, faults(err)); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("a secret is in the error: %v", err)
			}
			if n := len(l.World.Hosts()); n != 0 {
				t.Errorf("%d machines were made", n)
			}
		})
	}
}

// TestScaleIsRefused by name, whatever the VNFD could do.
func TestScaleIsRefused(t *testing.T) {
	t.Parallel()
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Kind: vnflcm.OpScale, Scale: &vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "registries"}}}
	err := registry.New(registry.Config{}).Validate(t.Context(), op)
	want := []string{`aspectId: "registries": a private registry cannot be scaled: its machines would not share their images`}
	if diff := cmp.Diff(want, faults(err)); diff != "" {
		t.Error(diff)
	}
}

// TestWarnings: what is accepted, but not as one may think.
func TestWarnings(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{})
	l.Instantiated("instantiate.json", with(t, `{"users":[{"username":"a","password":"b"}],"proxy":{"http_proxy":"http://p"},"colour":"green"}`))
	for _, want := range []string{"passwords are sent in the clear without tls", "the proxy is not used", "they are lost when it is healed",
		"additionalParams.private_registry_installation_param.colour"} {
		if n := strings.Count(l.Log(), want); n != 1 {
			t.Errorf("%q is in the log %d times", want, n)
		}
	}
}
