package snapshots_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/snapshots"
)

// An archive is opened with the recovery key, without the Manager.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "snapshots")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	secret, public, err := snapshots.NewRecoveryKey()
	if err != nil {
		log.Fatal(err)
	}
	storage := snapshots.Directory(folder)
	archives, err := snapshots.New(storage, public) // for vnflcm.Config.Snapshots
	if err != nil {
		log.Fatal(err)
	}

	// What the Manager does with a snapshot.
	archive, err := archives.Create(ctx, vnflcm.SnapshotPlace{Tenant: "north", Instance: "c1", ID: "s1"})
	if err != nil {
		log.Fatal(err)
	}
	defer archive.Abort()
	if _, err := io.WriteString(archive, "a tar file"); err != nil {
		log.Fatal(err)
	}
	if _, err := archive.Commit(); err != nil {
		log.Fatal(err)
	}

	// What its operator does later.
	file, err := storage.Open(ctx, "tenant-north/instance-c1/s1.tar.age")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	clear, err := snapshots.Decrypt(file, strings.NewReader(secret.Reveal()))
	if err != nil {
		log.Fatal(err)
	}
	text, err := io.ReadAll(clear)
	fmt.Println(string(text), err)
	// Output: a tar file <nil>
}
