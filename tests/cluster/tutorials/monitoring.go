package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"berth.test/cluster/controlplane"
)

// load is the data of a node's exporter.
type load struct {
	received float64 // counter at the beginning, bytes
	perSec   float64
	busy     float64 // share of the time
}

// monitoring is an exporter for all nodes, and a real Prometheus that scrapes it. It has the address and the port of
// the tutorials' Service prometheus-server.monitoring.
type monitoring struct {
	server     *controlplane.Child
	children   *controlplane.Children
	address    string
	configFile string
	data       string

	mutex sync.Mutex
	loads map[string]load
	began time.Time
}

// A separate loopback address, because the port is fixed.
const prometheusAddress = "127.90.90.1"

// Half a second is much less than in the tutorials, so that the tests need not wait for minutes.
const prometheusConfig = `global: {scrape_interval: 500ms, scrape_timeout: 500ms}
scrape_configs:
- job_name: node-exporter
  honor_labels: true
  static_configs: [{targets: ["%s"]}]
`

func startMonitoring(directory string, children *controlplane.Children, loads map[string]load) (*monitoring, error) {
	m := &monitoring{children: children, loads: loads, began: time.Now(), address: "http://" + net.JoinHostPort(prometheusAddress, "9090"),
		configFile: directory + "/prometheus.yaml", data: directory + "/prometheus"}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go http.Serve(listener, http.HandlerFunc(m.export))
	if err := os.WriteFile(m.configFile, fmt.Appendf(nil, prometheusConfig, listener.Addr()), 0o600); err != nil {
		return nil, err
	}
	return m, m.start()
}

func (m *monitoring) start() (err error) {
	m.server, err = m.children.Start("prometheus", []string{"prometheus"}, "--config.file="+m.configFile,
		"--web.listen-address="+net.JoinHostPort(prometheusAddress, "9090"), "--storage.tsdb.path="+m.data)
	return err
}

func (m *monitoring) export(w http.ResponseWriter, _ *http.Request) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	seconds := time.Since(m.began).Seconds()
	for node, l := range m.loads {
		fmt.Fprintf(w, "node_network_receive_bytes_total{device=\"ens192\",kubernetes_node=%q,instance=%q} %.0f\n", node, node, l.received+seconds*l.perSec)
		for cpu := range 2 {
			// The simulated uptime is an hour.
			fmt.Fprintf(w, "node_cpu_seconds_total{cpu=\"%d\",mode=\"idle\",kubernetes_node=%q,instance=%q} %.3f\n", cpu, node, node, 3600+seconds*(1-l.busy))
			fmt.Fprintf(w, "node_cpu_seconds_total{cpu=\"%d\",mode=\"user\",kubernetes_node=%q,instance=%q} %.3f\n", cpu, node, node, 3600+seconds*l.busy)
		}
	}
}

// query runs one query and returns the values by node.
func (m *monitoring) query(ctx context.Context, query string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.address+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var read struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  []any
			}
		}
	}
	if err := json.Unmarshal(text, &read); err != nil || read.Error != "" {
		return nil, fmt.Errorf("%s: %s", query, text)
	}
	values := make(map[string]float64)
	for _, series := range read.Data.Result {
		value, err := strconv.ParseFloat(series.Value[1].(string), 64)
		if err != nil {
			return nil, err
		}
		values[series.Metric["instance"]] = value
	}
	return values, nil
}

// scraped waits until every node has enough samples for a rate.
func (m *monitoring) scraped(ctx context.Context) error {
	return controlplane.Until(ctx, stepTimeout, "scrapes", func() (bool, error) {
		if !m.server.Running() {
			return false, m.server.Gone()
		}
		values, err := m.query(ctx, `count_over_time(node_cpu_seconds_total{cpu="0",mode="idle"}[1m]) > 5`)
		return err == nil && len(values) == len(m.loads), nil
	})
}
