package openstack

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// VIMFromClouds reads a cloud from clouds.yaml, the configuration file of openstackclient, and returns it as the
// connection info of a VIM. cloud is the name of the cloud; if it is empty, the environment variable OS_CLOUD names it.
//
// The file is the one that OS_CLIENT_CONFIG_FILE names. Without that variable it is the first clouds.yaml in the working
// directory, in the folder openstack of the user's configuration folder, or in /etc/openstack. Values in secure.yaml in
// the same folder take precedence. The result has the name of the cloud as vimId, and the vimType openstack. Profiles and
// vendors (clouds-public.yaml) are not supported.
func VIMFromClouds(cloud string) (vnflcm.VimConnectionInfo, error) {
	var none vnflcm.VimConnectionInfo
	cloud = cmp.Or(cloud, os.Getenv("OS_CLOUD"))
	if cloud == "" {
		return none, errors.New("openstack: no cloud is named, nor is OS_CLOUD set")
	}
	file, data, err := findClouds()
	if err != nil {
		return none, err
	}
	entry, err := cloudEntry(file, data, cloud)
	if err != nil {
		return none, err
	}
	if entry == nil {
		return none, fmt.Errorf("openstack: %s has no cloud %q", file, cloud)
	}
	for _, name := range []string{"profile", "cloud"} {
		if _, used := entry[name]; used {
			return none, fmt.Errorf("openstack: %s: cloud %q uses %q, which is not supported: write its settings out", file, cloud, name)
		}
	}
	secure := filepath.Join(filepath.Dir(file), "secure.yaml")
	if data, err = os.ReadFile(secure); err == nil { //nolint:gosec // the user's own file
		over, err := cloudEntry(secure, data, cloud)
		if err != nil {
			return none, err
		}
		overlay(entry, over)
	} else if !errors.Is(err, os.ErrNotExist) {
		return none, fmt.Errorf("openstack: %w", err)
	}
	return cloudVIM(cloud, entry)
}

func findClouds() (file string, data []byte, err error) {
	places := []string{os.Getenv("OS_CLIENT_CONFIG_FILE")}
	if places[0] == "" {
		config := os.Getenv("XDG_CONFIG_HOME")
		if home, err := os.UserHomeDir(); config == "" && err == nil {
			config = filepath.Join(home, ".config")
		}
		places = []string{"clouds.yaml", filepath.Join(config, "openstack", "clouds.yaml"), "/etc/openstack/clouds.yaml"}
	}
	for _, file := range places {
		data, err := os.ReadFile(file) //nolint:gosec // the user's own file
		if err == nil {
			return file, data, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", nil, fmt.Errorf("openstack: %w", err)
		}
	}
	return "", nil, fmt.Errorf("openstack: no clouds.yaml in %q", places)
}

// cloudEntry returns the entry of a cloud, or nil if the file does not have the cloud. It does not show errors of the YAML
// parser: they quote the file, which has passwords.
func cloudEntry(file string, data []byte, cloud string) (map[string]any, error) {
	var document struct {
		Clouds map[string]map[string]any `yaml:"clouds"`
	}
	if yaml.Unmarshal(data, &document) != nil {
		return nil, fmt.Errorf("openstack: %s is not of the form clouds: {NAME: {auth: {...}}}", file)
	}
	return document.Clouds[cloud], nil
}

func overlay(under, over map[string]any) {
	for key, value := range over {
		inner, ok := value.(map[string]any)
		if below, both := under[key].(map[string]any); ok && both {
			overlay(below, inner)
			continue
		}
		under[key] = value
	}
}

// cloudVIM converts an entry of clouds.yaml. It keeps the names of attributes that the driver also accepts.
func cloudVIM(cloud string, entry map[string]any) (vnflcm.VimConnectionInfo, error) {
	access, _ := entry["auth"].(map[string]any)
	inter := map[string]any{"endpoint": access["auth_url"]}
	auth := map[string]any{"region": entry["region_name"]}
	for key, value := range access {
		switch key {
		case "auth_url":
		case "domain_name", "domain_id": // the domain of the user and of the project
			rest := key[len("domain_"):]
			for _, of := range []string{"user_domain_", "project_domain_"} {
				if access[of+rest] == nil {
					auth[of+rest] = value
				}
			}
		default:
			auth[key] = value
		}
	}
	if of := cmp.Or(entry["interface"], entry["endpoint_type"]); of != nil {
		inter["interface"] = of
	}
	if entry["verify"] == false || entry["insecure"] == true {
		inter["skipCertificateVerification"] = true
	}
	if file, ok := entry["cacert"].(string); ok && inter["skipCertificateVerification"] == nil {
		pem, err := os.ReadFile(file) //nolint:gosec // named in the user's own file
		if err != nil {
			return vnflcm.VimConnectionInfo{}, fmt.Errorf("openstack: cacert of cloud %q: %w", cloud, err)
		}
		inter["trustedCertificates"] = string(pem)
	}
	vim := vnflcm.VimConnectionInfo{ID: cloud, VimID: cloud, VimType: "openstack"}
	var err1, err2 error
	vim.InterfaceInfo, err1 = vnflcm.NewParams(inter)
	vim.AccessInfo, err2 = vnflcm.NewParams(auth)
	return vim, errors.Join(err1, err2)
}
