// Command flannelcni is the CNI plugin "flannel" for the end-to-end tests. It connects pods to the network in
// /run/flannel/subnet.env, a file of flanneld, through the plugin "bridge". The original plugin cannot be built as a Go
// module.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	if err := run(); err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"cniVersion": "0.4.0", "code": 999, "msg": err.Error()})
		os.Exit(1)
	}
}

func run() error {
	if os.Getenv("CNI_COMMAND") == "VERSION" {
		_, err := io.WriteString(os.Stdout, `{"cniVersion":"0.4.0","supportedVersions":["0.3.0","0.3.1","0.4.0"]}`)
		return err
	}
	var conf struct {
		Name       string         `json:"name"`
		CNIVersion string         `json:"cniVersion"`
		Delegate   map[string]any `json:"delegate"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&conf); err != nil {
		return err
	}
	// Store the configuration with which a container is connected, as the original does. DEL needs the same configuration.
	note := filepath.Join("/var/lib/cni/flannel", filepath.Base(os.Getenv("CNI_CONTAINERID")))
	text, err := os.ReadFile(note) //nolint:gosec // its name is the id of a container
	switch command := os.Getenv("CNI_COMMAND"); {
	case command == "ADD":
		delegate, err := bridge()
		if err != nil {
			return err
		}
		maps.Copy(delegate, conf.Delegate)
		delegate["name"], delegate["cniVersion"] = conf.Name, conf.CNIVersion
		if text, err = json.Marshal(delegate); err != nil {
			return err
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(note), 0o700), os.WriteFile(note, text, 0o600)); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrNotExist):
		return nil // the container was never connected
	case err != nil:
		return err
	case command == "DEL":
		defer os.Remove(note)
	}
	var said bytes.Buffer
	plugin := exec.Command(filepath.Join(filepath.Dir(os.Args[0]), "bridge")) //nolint:gosec,noctx // beside this program
	plugin.Stdin, plugin.Stdout, plugin.Stderr = bytes.NewReader(text), &said, os.Stderr
	if err := plugin.Run(); err != nil {
		return fmt.Errorf("bridge: %w: %s", err, strings.Join(strings.Fields(said.String()), " "))
	}
	_, err = io.Copy(os.Stdout, &said)
	return err
}

// bridge returns the configuration of the plugin "bridge", computed from the file of flanneld.
func bridge() (map[string]any, error) {
	noted, err := os.ReadFile("/run/flannel/subnet.env")
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for line := range strings.Lines(string(noted)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		env[name] = value
	}
	mtu, err1 := strconv.Atoi(env["FLANNEL_MTU"])
	subnet, err2 := netip.ParsePrefix(env["FLANNEL_SUBNET"])
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return map[string]any{
		"type": "bridge", "mtu": mtu, "isGateway": true, "hairpinMode": true, "ipMasq": env["FLANNEL_IPMASQ"] == "false",
		"ipam": map[string]any{"type": "host-local", "ranges": [][]map[string]string{{{"subnet": subnet.Masked().String()}}},
			"routes": []map[string]string{{"dst": env["FLANNEL_NETWORK"]}}},
	}, nil
}
