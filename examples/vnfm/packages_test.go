package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// upload sends the content of a package, and returns the status of the answer.
func (p *program) upload(ctx context.Context, uri string, content io.Reader) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, uri+"/package_content", content)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/zip")
	response, err := p.http.Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// newPackage creates a package.
func (p *program) newPackage() (uri, id string) {
	p.t.Helper()
	uri, document := p.send("POST", p.packages(), map[string]any{}, 201)
	return uri, fmt.Sprint(document["id"])
}

// vnfdOf returns the VNFD id of the nth package of a test.
func vnfdOf(n int) string { return fmt.Sprintf("93d4b8f1-2a6c-4e07-9d15-%012d", n) }

// TestManyPackages uploads 200 packages (40 with -short) by 20 clients while operations run. A fifth of the packages is faulty.
func TestManyPackages(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	const clients = 20
	perClient := 10
	if testing.Short() {
		perClient = 2
	}
	states := make([]any, clients*perClient)
	want := slices.Clone(states)
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for n := client * perClient; n < (client+1)*perClient; n++ {
				content := csarOf(t, "cnf", vnfdOf(n))
				if want[n] = "ONBOARDED"; n%5 == 0 {
					content, want[n] = content[:len(content)/2], "ERROR"
				}
				uri, id := p.newPackage()
				if status, err := p.upload(t.Context(), uri, bytes.NewReader(content)); status != 202 || err != nil {
					t.Errorf("upload %d: status %d, %v", n, status, err)
					return
				}
				states[n] = p.awaitPackage(id)["onboardingState"]
			}
		})
	}
	cluster := p.create(sampleVNFD)
	p.do(cluster+"/instantiate", request(t, "instantiate_sandbox.json"))
	p.do(cluster+"/terminate", map[string]any{"terminationType": "FORCEFUL"})
	wg.Wait()
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("the states:\n%s\n%s", diff, p.log)
	}
}

// TestKilledUploads repeatedly kills the program during uploads and checks of packages. Afterwards every package can be uploaded, and no
// unused file is left.
func TestKilledUploads(t *testing.T) {
	t.Parallel()
	data, kills := t.TempDir(), 8
	if testing.Short() {
		kills = 2
	}
	var ids []string
	for n := range kills {
		p := start(t, data)
		ids = append(ids, p.dieInUpload(csarOf(t, "k8s-cluster", vnfdOf(n)), n))
	}
	p := start(t, data)
	for n, id := range ids {
		if p.awaitPackage(id)["onboardingState"] == "ONBOARDED" {
			continue
		}
		status, err := p.upload(t.Context(), p.packages()+"/"+id, bytes.NewReader(csarOf(t, "k8s-cluster", vnfdOf(n))))
		if state := p.awaitPackage(id); err != nil || status != 202 || state["onboardingState"] != "ONBOARDED" {
			t.Errorf("another upload of package %d: status %d, %v, %v", n, status, err, state)
		}
	}
	left, err := os.ReadDir(filepath.Join(data, "onboarded", "uploads"))
	if err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
}

// dieInUpload starts the upload of a package, kills the program, and returns the id of the package. If n is odd, it sends the whole
// content before.
func (p *program) dieInUpload(content []byte, n int) (id string) {
	p.t.Helper()
	uri, id := p.newPackage()
	body, more := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.upload(p.t.Context(), uri, body)
		_ = body.CloseWithError(io.ErrClosedPipe)
	}()
	_, err := more.Write(content[:(n/2+1)*len(content)/10])
	must(p.t, err)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, document := p.send("GET", uri, nil, 200); document["onboardingState"] == "UPLOADING" {
			break
		}
		if time.Now().After(deadline) {
			p.t.Fatal("the upload does not begin")
		}
	}
	if n%2 == 1 {
		_, _ = more.Write(content[(n/2+1)*len(content)/10:])
		_ = more.Close()
	}
	must(p.t, p.Process.Kill())
	_ = p.Wait()
	_ = more.Close()
	<-ended
	return id
}
