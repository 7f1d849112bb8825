package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// startMeasured starts a VNFM with metrics, and returns their URL.
func startMeasured(t *testing.T) (p *program, url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "vnfm.yaml")
	must(t, os.WriteFile(file, []byte("metrics: 127.0.0.1:0\n"), 0o600))
	p = start(t, t.TempDir(), "-config="+file)
	eventually(t, func() bool {
		url = regexp.MustCompile(`http://\S+/metrics`).FindString(p.log.String())
		return url != ""
	}, func() string { return "no metrics are served: " + p.log.String() })
	return p, url
}

// read returns the text at a URL.
func (p *program) read(url string) string {
	p.t.Helper()
	response, err := p.request("GET", url, nil)
	must(p.t, err)
	text, err := io.ReadAll(response.Body)
	must(p.t, err)
	must(p.t, response.Body.Close())
	return string(text)
}

// table returns the rows of the table of docs/monitoring.md whose header begins with a word. The cells have no quotes.
func table(t *testing.T, header string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/monitoring.md")
	must(t, err)
	_, rest, found := strings.Cut(string(text), "\n| "+header+" |")
	if !found {
		t.Fatalf("docs/monitoring.md has no table with the header %s", header)
	}
	for line := range strings.Lines(rest) {
		if line == "\n" {
			break
		}
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(strings.ReplaceAll(cells[i], "`", ""))
		}
		rows = append(rows, cells)
	}
	return rows[2:]
}

// families returns the type and the labels of each metric in the format of Prometheus.
func families(text string) map[string]string {
	out := map[string]string{}
	for _, family := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
		labels := map[string]bool{}
		for _, line := range regexp.MustCompile(`(?m)^`+family[1]+`(?:_bucket|_sum|_count)?\{(.*)\} \S+$`).FindAllStringSubmatch(text, -1) {
			for _, label := range regexp.MustCompile(`(\w+)="[^"]*"`).FindAllStringSubmatch(line[1], -1) {
				if label[1] != "le" && !strings.HasPrefix(label[1], "otel_scope_") {
					labels[label[1]] = true
				}
			}
		}
		out[family[1]] = family[2] + " " + strings.Join(slices.Sorted(maps.Keys(labels)), " ")
	}
	return out
}

// TestMonitoringMetrics compares the table of metrics with those of a VNFM that has a cluster, in which a step and a command have failed.
func TestMonitoringMetrics(t *testing.T) {
	t.Parallel()
	p, url := startMeasured(t)
	cluster := p.create(sampleVNFD)
	operation, _ := p.send("POST", cluster+"/instantiate", request(t, "instantiate_sandbox.json"), 202)
	p.await(operation, "COMPLETED")
	want := map[string]string{}
	for _, row := range table(t, "metric") {
		labels := strings.FieldsFunc(row[2], func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(labels)
		want[row[0]] = row[1] + " " + strings.Join(labels, " ")
		if strings.HasSuffix(row[0], "_seconds") != (row[3] == "seconds") {
			t.Errorf("%s has the unit %q", row[0], row[3])
		}
	}
	var got map[string]string
	eventually(t, func() bool {
		got = families(p.read(url))
		return got["vnfkit_vim_count"] != ""
	}, func() string { return "VIMs are not checked:\n" + p.log.String() })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/monitoring.md and /metrics (-table, +metrics):\n%s", diff)
	}
}

// rules returns the expressions of the rules by the names of their alerts.
func rules(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("rules.yaml")
	must(t, err)
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	must(t, yaml.Unmarshal(text, &file))
	out := map[string]string{}
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			out[rule.Alert] = rule.Expr
		}
	}
	return out
}

// TestMonitoringRules: the page describes exactly the alerts of the rules, the rules use metrics and labels of the page alone, each alert has a
// test, and the page has the classes of vnflcm.
func TestMonitoringRules(t *testing.T) {
	t.Parallel()
	var described []string
	for _, row := range table(t, "alert") {
		described = append(described, row[0])
	}
	alerts := rules(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(alerts)), slices.Sorted(slices.Values(described))); diff != "" {
		t.Errorf("alerts (-rules, +page):\n%s", diff)
	}
	known := map[string]bool{}
	for _, row := range table(t, "metric") {
		known[row[0]] = true
		for _, label := range strings.Split(row[2], ", ") {
			known[label] = true
		}
	}
	tests, err := os.ReadFile("rules_test.yaml")
	must(t, err)
	for alert, expr := range alerts {
		for _, name := range regexp.MustCompile(`vnfkit_\w+`).FindAllString(expr, -1) {
			if !known[name] && !known[strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")] {
				t.Errorf("%s uses %s, which the page lacks", alert, name)
			}
		}
		if !strings.Contains(string(tests), `alertname="`+alert+`"`) {
			t.Errorf("%s has no test", alert)
		}
	}
	var classes []string
	for _, row := range table(t, "class") {
		classes = append(classes, row[0])
	}
	want := []vnflcm.WaitClass{vnflcm.WaitHostUnreachable, vnflcm.WaitHostCredentials, vnflcm.WaitVIMUnreachable, vnflcm.WaitVIMCredentials,
		vnflcm.WaitUnreachable, vnflcm.WaitQuota, vnflcm.WaitGrant, vnflcm.WaitLock, vnflcm.WaitNotReady, vnflcm.WaitOther}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(classes)); diff != "" {
		t.Errorf("classes: %s", diff)
	}
}

// TestPromtool checks the rules, and runs a test of each.
func TestPromtool(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("a package is missing: prometheus, which has promtool")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		if out, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil { //nolint:gosec // fixed arguments
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// TestPrometheusAlert lets Prometheus read a VNFM with an operation that is FAILED_TEMP. The rules differ in the time alone.
func TestPrometheusAlert(t *testing.T) {
	needSOL003Part(t)
	if _, err := exec.LookPath("prometheus"); err != nil {
		t.Skip("a package is missing: prometheus")
	}
	p, url := startMeasured(t)
	prometheus := startPrometheus(t, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics"))
	operation, _ := p.send("POST", p.create(sampleVNFD)+"/instantiate", request(t, "instantiate_sandbox.json"), 202)
	p.await(operation, "PROCESSING")
	p.send("POST", operation+"/cancel", map[string]string{"cancelMode": "FORCEFUL"}, 202)
	p.await(operation, "FAILED_TEMP")
	prometheus.await(func(firing []string) bool { return slices.Equal(firing, []string{"VNFOperationFailed"}) })
	p.send("POST", operation+"/fail", nil, 200)
	prometheus.await(func(firing []string) bool { return len(firing) == 0 })
}

// prometheusServer is a Prometheus on loopback.
type prometheusServer struct {
	t   *testing.T
	url string
	log *output
}

// startPrometheus starts Prometheus, which reads the metrics of a target each second.
func startPrometheus(t *testing.T, target string) *prometheusServer {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile("rules.yaml")
	must(t, err)
	short := strings.NewReplacer("for: 1h", "for: 3s", "[5m]", "[3s]").Replace(string(text))
	must(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), []byte(short), 0o600))
	config := "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yaml]\nscrape_configs: [{job_name: vnfm, static_configs: [{targets: ['" + target + "']}]}]\n"
	must(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	server := &prometheusServer{t: t, log: new(output)}
	process := exec.CommandContext(context.WithoutCancel(t.Context()), "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), //nolint:gosec // fixed arguments
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	process.Stderr = server.log
	must(t, process.Start())
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	var found []string
	eventually(t, func() bool {
		found = regexp.MustCompile(`msg="Listening on" address=(\S+)`).FindStringSubmatch(server.log.String())
		return found != nil
	}, func() string { return "Prometheus does not start:\n" + server.log.String() })
	server.url = "http://" + found[1]
	return server
}

// await waits until the alerts that fire are as expected.
func (s *prometheusServer) await(expected func(firing []string) bool) {
	s.t.Helper()
	var firing []string
	var err error
	eventually(s.t, func() bool {
		firing, err = s.firing()
		return err == nil && expected(firing)
	}, func() string { return fmt.Sprintf("alerts that fire: %v, %v\n%s", firing, err, s.log) })
}

// firing returns the names of the alerts that fire.
func (s *prometheusServer) firing() (names []string, err error) {
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/api/v1/alerts", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	err = json.NewDecoder(response.Body).Decode(&answer)
	for _, alert := range answer.Data.Alerts {
		if alert.State == "firing" {
			names = append(names, alert.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return names, err
}
