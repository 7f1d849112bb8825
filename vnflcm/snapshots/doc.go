// Package snapshots keeps the archives of snapshots of VNFs, encrypted, in a folder or in a storage of the program:
//
//	archives, err := snapshots.New(snapshots.Directory("/var/lib/vnfm/snapshots"), "age1...")
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		// ...
//		Snapshots:      archives,
//		SnapshotPolicy: vnflcm.SnapshotPolicy{Every: 24 * time.Hour},
//	})
//
// An archive is a tar file in the format of age (https://age-encryption.org/v1), which authenticates each 64 KiB before they are read, and the
// end. It is written and read as a stream. Its data key is new, and the Manager keeps it sealed with its other records. The recovery
// key, if there is one, opens every archive, also when the database or the key of the Manager are lost: make it with NewRecoveryKey or the
// program age-keygen, give New its public part, and keep its secret part elsewhere. Decrypt opens an archive with it,
// and so do the programs age --decrypt --identity recovery.key and tar.
package snapshots
