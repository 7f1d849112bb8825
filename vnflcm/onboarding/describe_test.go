package onboarding_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestDescription checks the artifacts and the software images of a package. Files that the VNFD imports, also from other folders, are not
// artifacts. A YAML file beside the VNFD that the VNFD does not import is an artifact, and also the change log, which only TOSCA.meta
// names. The images have no formats in the VNFD.
func TestDescription(t *testing.T) {
	t.Parallel()
	vnfd := string(unzipped(t, csar(t, "described", nil))["vnfd.yaml"])
	vnfd = strings.Replace(vnfd, "metadata:", "imports: [types/own.yaml]\nmetadata:", 1)
	vnfd = strings.Replace(vnfd, "max_number_of_instances: 8}}", "max_number_of_instances: 8}}\n      artifacts:\n"+
		"        image: {type: tosca.artifacts.nfv.SwImage, file: images/small.qcow2}", 1)
	more := map[string]string{"vnfd.yaml": vnfd, "types/own.yaml": "tosca_definitions_version: tosca_simple_yaml_1_2\ndata_types: {own.Data: {derived_from: tosca.datatypes.Root}}\n",
		"values.yaml": "a: b\n", "tests/run.sh": "exit", "images/small.qcow2": "image",
		"TOSCA-Metadata/TOSCA.meta": "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nCreated-By: vnfkit\nEntry-Definitions: vnfd.yaml\nETSI-Entry-Manifest: vnfd.mf\nETSI-Entry-Change-Log: ChangeLog.txt\n",
		"ChangeLog.txt":             "first"}
	manifest := "metadata:\n  vnf_product_name: Small\n"
	for _, name := range []string{"vnfd.yaml", "types/own.yaml", "values.yaml", "tests/run.sh", "images/small.qcow2"} {
		manifest += "\nSource: " + name + "\nAlgorithm: SHA-256\nHash: " + hashOf(more[name]) + "\n"
	}
	more["vnfd.mf"] = manifest + "\nnon_mano_artifact_sets:\n  org.example.tests:\n    Source: tests/run.sh\n"
	p := site{dir: t.TempDir(), store: store.NewMemory()}.start(t, nil)
	info := p.onboard(t, "", csar(t, "described", more))

	want := []onboarding.Artifact{
		{ArtifactPath: "ChangeLog.txt", Checksum: onboarding.Checksum{Algorithm: "SHA-256", Hash: hashOf("first")}, ArtifactClassification: "HISTORY"},
		{ArtifactPath: "tests/run.sh", Checksum: onboarding.Checksum{Algorithm: "SHA-256", Hash: hashOf("exit")}, NonManoArtifactSetID: "org.example.tests"},
		{ArtifactPath: "values.yaml", Checksum: onboarding.Checksum{Algorithm: "SHA-256", Hash: hashOf("a: b\n")}},
	}
	if d := cmp.Diff(want, info.AdditionalArtifacts); d != "" {
		t.Error("artifacts:", d)
	}
	if len(info.SoftwareImages) != 1 {
		t.Fatalf("images: %+v", info.SoftwareImages)
	}
	if i := info.SoftwareImages[0]; i.ID != "worker" || i.ContainerFormat != "BARE" || i.DiskFormat != "QCOW2" || i.ImagePath != "images/small.qcow2" {
		t.Errorf("image: %+v", i)
	}
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
