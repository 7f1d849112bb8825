package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// webPort and localPort are those of nodes at which the service of real pods answers.
const (
	webPort   = 30080
	localPort = 30081
)

// shop is a service of real pods: pods of a Deployment, which a drain moves to other nodes, and pods of a DaemonSet, behind a
// port that no node forwards to another node. The server is the health endpoint of CoreDNS, whose image every node has.
// After SIGTERM, CoreDNS continues to answer for some seconds.
const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
data:
  Corefile: |
    .:5300 {
      health :8080 {
        lameduck 10s
      }
    }
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: registry.k8s.io/coredns/coredns:tests
        args: [-conf, /etc/coredns/Corefile]
        readinessProbe: {httpGet: {path: /health, port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: config, mountPath: /etc/coredns}]
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}
      volumes: [{name: config, configMap: {name: web}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: web}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: local, namespace: shop}
spec:
  selector: {matchLabels: {app: local}}
  template:
    metadata: {labels: {app: local}}
    spec:
      containers:
      - name: web
        image: registry.k8s.io/coredns/coredns:tests
        args: [-conf, /etc/coredns/Corefile]
        readinessProbe: {httpGet: {path: /health, port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: config, mountPath: /etc/coredns}]
      volumes: [{name: config, configMap: {name: web}}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
---
apiVersion: v1
kind: Service
metadata: {name: local, namespace: shop}
spec:
  type: NodePort
  externalTrafficPolicy: Local
  selector: {app: local}
  ports: [{port: 80, targetPort: 8080, nodePort: 30081}]
`

// traffic is a client that requests a page at a pace, each time over a new connection, until the test stops it.
type traffic struct {
	t      testing.TB
	name   string
	client *http.Client
	stop   context.CancelFunc
	ended  sync.WaitGroup

	mu       sync.Mutex
	began    time.Time
	requests int
	failures []failure
	slowest  time.Duration
}

type failure struct {
	at, took time.Duration // when the request began, and how long it lasted
	err      error
}

// pace is how often a client asks, and trafficPatience how long it waits for an answer.
const (
	pace            = 10 * time.Millisecond
	trafficPatience = 20 * time.Second
)

// request begins to request a page.
func request(t testing.TB, every time.Duration, name, url string, tlsConfig *tls.Config) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &traffic{t: t, name: name, stop: cancel, began: time.Now(), client: &http.Client{Timeout: trafficPatience,
		Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsConfig, DialContext: (&net.Dialer{}).DialContext}}}
	w.ended.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.ended.Go(func() { w.once(context.WithoutCancel(ctx), url) }) // the last ones come to their end
			}
		}
	})
	return w
}

func (w *traffic) once(ctx context.Context, url string) {
	begin := time.Now()
	err := w.ask(ctx, url)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	w.slowest = max(w.slowest, time.Since(begin))
	if err != nil {
		w.failures = append(w.failures, failure{begin.Sub(w.began), time.Since(begin), err})
	}
}

func (w *traffic) ask(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := w.client.Do(request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %s", answer.Status)
	}
	_ = answer.Body.Close()
	return err
}

// end ends the requests, logs what became of them, and returns how many failed.
func (w *traffic) end(during string) int {
	w.t.Helper()
	w.stop()
	w.ended.Wait()
	slices.SortFunc(w.failures, func(a, b failure) int { return int(a.at - b.at) })
	line := fmt.Sprintf("%s: %s: %d of %d requests failed in %s, the slowest took %s", during, w.name, len(w.failures), w.requests,
		time.Since(w.began).Round(time.Second), w.slowest.Round(time.Millisecond))
	if n := len(w.failures); n > 0 {
		kinds := map[string]int{}
		for _, f := range w.failures {
			_, why, _ := strings.Cut(f.err.Error(), `": `)
			kinds[why]++
		}
		line += fmt.Sprintf("; the first began after %s, the last after %s: %v", w.failures[0].at.Round(time.Millisecond), w.failures[n-1].at.Round(time.Millisecond), kinds)
	}
	w.t.Log(line)
	return len(w.failures)
}

// none ends the requests, of which none may have failed.
func (w *traffic) none(during string) {
	w.t.Helper()
	if w.end(during) != 0 {
		w.t.Errorf("%s: requests to %s failed", during, w.name)
	}
}
