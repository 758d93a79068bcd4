package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	extender "k8s.io/kube-scheduler/extender/v1"
)

// services are an extender and a Prometheus: the extender rejects nodes whose names begin with "unlicensed", the
// Prometheus has the heat of nodes.
type services struct {
	listener net.Listener
	mutex    sync.Mutex
	heat     map[string]string
}

func startServices() (*services, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &services{listener: listener}
	mux := http.NewServeMux()
	mux.HandleFunc("/filter", s.filter)
	mux.HandleFunc("/api/v1/query", s.query)
	go http.Serve(listener, mux)
	return s, nil
}

func (s *services) url() string { return fmt.Sprintf("http://%s", s.listener.Addr()) }

func (s *services) setHeat(heat map[string]string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.heat = heat
}

func (s *services) filter(w http.ResponseWriter, r *http.Request) {
	var args extender.ExtenderArgs
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil || args.NodeNames == nil {
		http.Error(w, "expected names of nodes", http.StatusBadRequest)
		return
	}
	passed, failed := []string{}, extender.FailedNodesMap{}
	for _, name := range *args.NodeNames {
		if strings.HasPrefix(name, "unlicensed") {
			failed[name] = "no license on this node"
		} else {
			passed = append(passed, name)
		}
	}
	json.NewEncoder(w).Encode(extender.ExtenderFilterResult{NodeNames: &passed, FailedNodes: failed})
}

func (s *services) query(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	series := []any{}
	for node, value := range s.heat {
		query := r.FormValue("query")
		if strings.HasPrefix(query, "time()") { // the age of samples
			value = "1"
		} else if strings.Contains(query, "count_over_time") {
			value = "20"
		}
		series = append(series, map[string]any{"metric": map[string]string{"node": node}, "value": []any{float64(time.Now().Unix()), value}})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": "vector", "result": series}})
}
