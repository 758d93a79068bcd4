package main

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// A separate address, because the configurations contain the port.
const prometheusAddress = "127.90.92.1"

// prometheus is a fake with measurements of two nodes: one is idle, the other has busy CPUs and memory.
type prometheus struct {
	server   *http.Server
	requests atomic.Int64
}

func startPrometheus() (*prometheus, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(prometheusAddress, "9090"))
	if err != nil {
		return nil, err
	}
	p := &prometheus{}
	p.server = &http.Server{Handler: http.HandlerFunc(p.answer)}
	go p.server.Serve(listener)
	return p, nil
}

func (p *prometheus) answer(w http.ResponseWriter, r *http.Request) {
	p.requests.Add(1)
	idle, busy := "0.1", "0.7"
	query := r.FormValue("query")
	switch {
	case strings.HasPrefix(query, "time()"): // the age of samples
		idle, busy = "1", "1"
	case strings.Contains(query, "count_over_time"): // their number
		idle, busy = "20", "20"
	// idle everywhere; the estimate of a new pod is the mean
	case strings.Contains(query, "node_network_"), strings.Contains(query, "node_disk_"):
		idle, busy = "0.01", "0.01"
	case strings.Contains(query, "container_"): // no measurements of pods
		idle, busy = "", ""
	}
	series := []any{}
	for node, value := range map[string]string{idleNode: idle, busyNode: busy} {
		if value != "" {
			series = append(series, map[string]any{"metric": map[string]string{"node": node}, "value": []any{float64(time.Now().Unix()), value}})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": series}})
}
