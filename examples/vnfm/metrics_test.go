package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMetrics reads the metrics of the VNFM in the format of Prometheus.
func TestMetrics(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "vnfm.yaml")
	must(t, os.WriteFile(file, []byte("metrics: 127.0.0.1:0\n"), 0o600))
	p := start(t, t.TempDir(), "-config="+file)
	operation, _ := p.send("POST", p.create(sampleVNFD)+"/instantiate", request(t, "instantiate_sandbox.json"), 202)
	p.await(operation, "COMPLETED")
	url := regexp.MustCompile(`http://\S+/metrics`).FindString(p.log.String())
	response, err := p.request("GET", url, nil)
	must(t, err)
	text, err := io.ReadAll(response.Body)
	must(t, err)
	must(t, response.Body.Close())
	for _, want := range []string{
		`vnfkit_operation_duration_seconds_count{.*vnfkit_operation_state="COMPLETED",vnfkit_operation_type="INSTANTIATE"} 1`,
		`vnfkit_operation_active{.*vnfkit_operation_state="PROCESSING"} 0`,
		`vnfkit_operation_queue{.*} 0`,
		`vnfkit_step_duration_seconds_count{.*vnfkit_phase="instantiate_end",vnfkit_result="done",vnfkit_step="join"} 1`,
		`vnfkit_store_duration_seconds_count{.*vnfkit_store_method="Apply"} \d+`,
		`ssh_command_duration_seconds_count{.*process_executable_name="kubeadm"} \d+`,
		`ssh_connections{.*} \d+`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).Match(text) {
			t.Errorf("no metric %s in\n%s", want, regexp.MustCompile(`(?m)^.*(_bucket|#).*\n`).ReplaceAllString(string(text), ""))
		}
	}
	if strings.Contains(string(text), "password") {
		t.Error("a metric has a password")
	}
}
