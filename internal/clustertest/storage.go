package clustertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// StorageVDU is the VDU of a storage server with a volume, as in Tacker's guide, and the line of a flavour that it takes the place of.
const StorageVDU = `
    storage:
      type: tosca.nodes.nfv.Vdu.Compute
      properties:
        name: storage
        description: storage server
        vdu_profile:
          min_number_of_instances: 1
          max_number_of_instances: 1
      capabilities:
        virtual_compute:
          properties:
            virtual_memory:
              virtual_mem_size: 4 GiB
            virtual_cpu:
              num_virtual_cpu: 2
      requirements:
        - virtual_storage: storage_volume

    storage_volume:
      type: tosca.nodes.nfv.Vdu.VirtualBlockStorage
      properties:
        virtual_block_storage_data:
          size_of_storage: 5 GB

    storage_CP:
      type: tosca.nodes.nfv.VduCp
      properties:
        layer_protocols: [ ipv4 ]
        order: 0
      requirements:
        - virtual_binding: storage

    masterNode_CP1:
`

// StorageFlavour is a flavour of the sample package in dir, with a storage server.
func StorageFlavour(t testing.TB, dir, flavour string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "Definitions/k8s_cluster_df_"+flavour+".yaml"))
	check(t, err)
	return strings.Replace(string(text), "\n    masterNode_CP1:\n", StorageVDU, 1)
}

// VolumeManifest is the manifest of a persistent volume on NFS. The driver fills in the server.
func VolumeManifest(name, dir string) string {
	return "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: " + name + "\nspec:\n  capacity:\n    storage: 1Gi\n" +
		"  persistentVolumeReclaimPolicy: Retain\n  accessModes:\n    - ReadWriteOnce\n  nfs:\n    server: 0.0.0.0\n    path: \"" + dir + "\"\n"
}
