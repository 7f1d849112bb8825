package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

var (
	commandPattern = regexp.MustCompile(`(?s)<pre class="command">(.*?)</pre>`)
	sectionPattern = regexp.MustCompile(`<section class="operation \w+" id="([^"]+)">`)
)

// TestInstancePage checks what the page of an instance has besides its operations.
func TestInstancePage(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "out of quota", member{"works", fateWorks}, member{"fails", fateFails})
	for _, instance := range f.all() {
		if instance.VnfInstanceName == "works" {
			_, err := f.Certificates(t.Context(), instance.ID)
			must(t, err)
		}
		page := html.UnescapeString(f.get("/instances/"+instance.ID, "north"))
		want := map[string][]string{
			"works": {`<td class="name">workerNode-0</td><td data-of="VDU">workerNode</td>`, "<div>198.18.1.12 <span class=\"dim\">workerNode_CP2</span></div><div>2001:db8::12 ",
				`<td data-of="host">compute-1 <span class="dim">nova</span></td>`, "<dd>master_instance 0, worker_instance 0</dd>", "2 certificates, the first to end first",
				`<td data-of="machine">workerNode-0</td>`, `<span class="badge good">instantiated</span>`},
			"fails": {`<td class="name">workerNode-0</td><td data-of="VDU">workerNode</td><td data-of="change">ADDED</td>`, "out of quota", `<span class="badge bad">FAILED_TEMP</span>`},
		}
		for _, text := range want[instance.VnfInstanceName] {
			if !strings.Contains(page, text) {
				t.Errorf("%s: no %q in\n%s", instance.VnfInstanceName, text, page)
			}
		}
		if strings.Contains(page, "<dt>tenant</dt>") || !strings.Contains(f.get("/instances/"+instance.ID, ""), "<dt>tenant</dt><dd>north</dd>") {
			t.Errorf("only the operator sees the tenant:\n%s", page)
		}
	}
}

// TestPagesWithDamage checks that a damaged record of an operation or of certificates hides neither the list nor the instance.
func TestPagesWithDamage(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "out of quota", member{"works", fateWorks}, member{"fails", fateFails})
	for _, instance := range f.all() {
		list, err := f.db.List(t.Context(), store.Query{Kind: "operation", Instance: instance.ID})
		must(t, err)
		if instance.VnfInstanceName == "works" {
			_, err := f.Certificates(t.Context(), instance.ID)
			must(t, err)
			certificates, err := f.db.Get(t.Context(), "certificates", instance.ID)
			must(t, err)
			list = append(list, certificates)
		}
		for i := range list {
			list[i].Body = []byte("damaged")
		}
		must(t, f.db.Apply(t.Context(), store.Batch{Put: list}))
		for path, want := range map[string]string{"/": instance.VnfInstanceName, "/instances/" + instance.ID: "cannot be read: operation " + list[0].ID + ": "} {
			for _, tenant := range []string{"", "north"} {
				if page := html.UnescapeString(f.get(path, tenant)); !strings.Contains(page, want) {
					t.Errorf("%s of %s for %q: no %q in\n%s", path, instance.VnfInstanceName, tenant, want, page)
				}
			}
		}
	}
}

// TestOperationsOrder checks that the newest operation is first, also behind the first page.
func TestOperationsOrder(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "", member{"works", fateWorks})
	id := f.all()[0].ID
	for i := range 2 * operationsSize {
		name := fmt.Sprint("name ", i)
		operation, err := f.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, "")
		must(t, err)
		_, err = f.Wait(t.Context(), operation)
		must(t, err)
	}
	list, err := f.Operations(t.Context(), vnflcm.OperationQuery{})
	must(t, err)
	var want, got []string
	for _, operation := range list.Items {
		want = append([]string{operation.ID}, want...)
	}
	for _, query := range []string{"", "?page=2", "?page=3"} {
		page := f.get("/instances/"+id+query, "")
		got = append(got, texts(sectionPattern, page)...)
		if !strings.Contains(page, `<a href="/instances/`+id+`?page=`) {
			t.Errorf("no links to pages:\n%s", page)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEndings does what the commands on the pages say: they end a failure, and a running operation.
func TestEndings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fate, task string
		status     int
		state      vnflcm.OperationState
	}{
		{fateFails, "retry", 202, vnflcm.FailedTemp}, {fateFails, "rollback", 202, vnflcm.RolledBack}, {fateFails, "fail", 200, vnflcm.Failed}, {fateWaits, "cancel", 202, vnflcm.FailedTemp},
	} {
		t.Run(c.task, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "out of quota", member{"one", c.fate})
			var url, body string
			for _, command := range texts(commandPattern, f.get("/instances/"+f.all()[0].ID, "")) {
				if words := strings.Fields(command); strings.HasSuffix(command, "/"+c.task) {
					url = words[len(words)-1]
				}
				if _, data, found := strings.Cut(command, "-d '"); found {
					body, _, _ = strings.Cut(data, "'")
				}
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
			must(t, err)
			r.Header.Set("Content-Type", "application/json")
			response, err := f.server.Client().Do(r)
			must(t, err)
			answer, err := io.ReadAll(response.Body)
			must(t, err)
			must(t, response.Body.Close())
			if response.StatusCode != c.status {
				t.Fatalf("%s %s: %s %s", url, body, response.Status, answer)
			}
			list, err := f.Operations(t.Context(), vnflcm.OperationQuery{})
			must(t, err)
			_, _ = f.Wait(t.Context(), list.Items[0].ID)
			operation, err := f.Operation(t.Context(), list.Items[0].ID)
			must(t, err)
			if operation.OperationState != c.state {
				t.Errorf("%s, want %s", operation.OperationState, c.state)
			}
		})
	}
}

// TestEndingCommands checks which commands a state has, and their words in a shell.
func TestEndingCommands(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Host = "vnfm.example.com'; touch x; '$(touch y)"
	failed := &vnflcm.VnfLcmOpOcc{ID: "o1", OperationState: vnflcm.FailedTemp, CanRollBack: true}
	final := &vnflcm.VnfLcmOpOcc{ID: "o1", OperationState: vnflcm.Failed, CanRollBack: true}
	pending := &vnflcm.VnfLcmOpOcc{ID: "o1", OperationState: vnflcm.Processing, IsCancelPending: true}
	forward := &vnflcm.VnfLcmOpOcc{ID: "o1", OperationState: vnflcm.FailedTemp}
	const uri = "/vnflcm/v2/vnf_lcm_op_occs/o1/"
	for name, c := range map[string]struct {
		pages     *pages
		operation *vnflcm.VnfLcmOpOcc
		want      []string // arguments, one per line
	}{
		"hostile host": {&pages{}, failed, []string{"-X\nPOST\nhttp://" + r.Host + uri + "retry\n", "-X\nPOST\nhttp://" + r.Host + uri + "rollback\n", "-X\nPOST\nhttp://" + r.Host + uri + "fail\n"}},
		"API root": {&pages{apiRoot: "https://vnfm.example.com/", login: (&config{Keystone: keystoneConfig{AuthURL: "https://k"}}).curlLogin()}, forward,
			[]string{"-H\nX-Auth-Token: t0\n-X\nPOST\nhttps://vnfm.example.com" + uri + "retry\n", "-H\nX-Auth-Token: t0\n-X\nPOST\nhttps://vnfm.example.com" + uri + "fail\n"}},
		"ended":   {&pages{}, final, nil},
		"pending": {&pages{}, pending, nil},
	} {
		var got []string
		for _, e := range c.pages.endings(r, c.operation) {
			words := exec.CommandContext(t.Context(), "sh", "-c", `curl() { printf '%s\n' "$@"; }; OS_TOKEN=t0; `+e.Command)
			out, err := words.Output()
			must(t, err)
			got = append(got, string(out))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
