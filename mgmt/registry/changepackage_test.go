package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const newVNFD = "b3d9c1e4-7a52-4c0e-9f1b-2e6a8d4c5f72"

// secondPackage returns the package dir with another VNFD and another image for its machine.
func secondPackage(t testing.TB, dir string) string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"df_simple", "df_volume", "top.vnfd", "types"} {
		name = "Definitions/private_registry_" + name + ".yaml"
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		files[name] = strings.NewReplacer("b3d9c1e4-7a52-4c0e-9f1b-2e6a8d4c5f71", newVNFD, "version: '24.04'", "version: '26.04'").Replace(string(text))
	}
	return mgmttest.Package(t, dir, files)
}

func changing(t testing.TB, additional string) vnflcm.ChangeCurrentVnfPkgRequest {
	t.Helper()
	p, err := vnflcm.ParseParams([]byte(additional))
	must(t, err)
	return vnflcm.ChangeCurrentVnfPkgRequest{VnfdID: newVNFD, AdditionalParams: p}
}

// onVolume lets the images be on the volume of the sample package.
func onVolume(r *vnflcm.InstantiateVnfRequest) { r.FlavourID = "volume" }

const volume = `{"volume":{"volume_resource_id":"RegistryVolume"},"server_name":"registry.example.org","tls":{}}`

// TestChangePackage gives the machine of a registry another image: images, certificate authority and address stay, also when the change is rolled
// back.
func TestChangePackage(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{sandbox: sandbox.Config{Rebuild: true}})
	id := l.Instantiated("instantiate.json", onVolume, with(t, volume))
	before := l.connection(id)
	must(t, l.push(before, "team/web:1"))
	l.Onboard(secondPackage(t, l.Package))
	check := func(key string) {
		t.Helper()
		if diff := cmp.Diff(before, l.connection(id)); diff != "" {
			t.Errorf("connection:\n%s", diff)
		}
		must(t, l.pull(before, "team/web:1"))
		must(t, l.push(before, "team/web:2"))
		if l.machine().PublicKey() == key {
			t.Error("the machine has the disk that it had before")
		}
	}
	key := l.machine().PublicKey()
	opID, err := l.ChangeVnfPkg(t.Context(), id, changing(t, `{"pause_after": 1}`))
	l.Fails(opID, err)
	check(key)
	key = l.machine().PublicKey()
	l.RollBack(opID)
	check(key)
	l.Must(l.ChangeVnfPkg(t.Context(), id, changing(t, `{}`)))
	check("")
}

// TestChangeRefused names the images that would end, and the parameters that clients depend on.
func TestChangeRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, setup{})
	id := l.Instantiated("instantiate.json")
	l.Onboard(secondPackage(t, l.Package))
	for additional, want := range map[string]string{
		`{}`: "must name PrivateRegistryVDU: the change ends the images of the registry on PrivateRegistryVDU-0, which are on no volume",
		`{"private_registry_installation_param":{"port_no":"5001"}}`:                        "private_registry_installation_param.port_no: cannot be changed",
		`{"private_registry_installation_param":{"tls":{}}}`:                                "private_registry_installation_param.tls: cannot be changed",
		`{"private_registry_installation_param":{"volume":{"volume_resource_id":"other"}}}`: "private_registry_installation_param.volume: cannot be changed",
	} {
		if _, err := l.ChangeVnfPkg(t.Context(), id, changing(t, additional)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", additional, err, want)
		}
	}
	opID, err := l.ChangeVnfPkg(t.Context(), id, changing(t, `{"allow_data_loss":["PrivateRegistryVDU"]}`))
	l.Must(opID, err)
	must(t, l.push(l.connection(id), "team/web:1"))
}
