package main

import (
	"context"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"berth.test/objects"
)

// result is one round. The fields are those of bench_decisions --json; pod groups have no times of single decisions.
type result struct {
	Name        string  `json:"name"`
	Value       float64 `json:"value"`
	Unit        string  `json:"unit"`
	Nodes       int     `json:"nodes"`
	Pods        int     `json:"pods"`
	WallSeconds float64 `json:"wallSeconds"`
	CPUSeconds  float64 `json:"cpuSeconds"`
	CPUMicros   float64 `json:"cpuMicros"`
	P50Micros   float64 `json:"p50Micros,omitempty"`
	P99Micros   float64 `json:"p99Micros,omitempty"`
	P999Micros  float64 `json:"p999Micros,omitempty"`
	MaxMicros   float64 `json:"maxMicros,omitempty"`
	Unplaced    int     `json:"unplaced"`
	Feasible    float64 `json:"feasible,omitempty"` // nodes that passed all filters, per decision
	PeakMiB     float64 `json:"peakMiB"`
}

// decideAll creates a scheduler with the cluster, and measures the decisions on the first pods of the scenario.
func decideAll(cfg *config.KubeSchedulerConfiguration, s *scenario, pods int) (*result, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var watched []runtime.Object
	for _, c := range s.before {
		if objects.Watched(c.object) {
			watched = append(watched, c.object)
		}
	}
	p, err := newReference(ctx, cfg, watched)
	if err != nil {
		return nil, err
	}
	defer p.queue.Close()
	for _, c := range s.before {
		if objects.Watched(c.object) {
			continue
		}
		if err := p.apply(c); err != nil {
			return nil, err
		}
	}
	for _, t := range s.turns[:pods] { // preemption reads the pod from the lister
		if err := p.factory.Core().V1().Pods().Informer().GetStore().Add(t.pod); err != nil {
			return nil, err
		}
	}
	goruntime.GC() // the decisions do not pay for earlier garbage

	r := &result{Pods: pods}
	micros := make([]float64, 0, pods)
	cpu, start := cpuSeconds(), time.Now()
	last := start
	for _, t := range s.turns[:pods] {
		for _, c := range t.changes {
			if err := p.apply(c); err != nil {
				return nil, err
			}
		}
		feasible, err := p.decide(t.pod)
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", t.pod.Name, err)
		}
		if feasible == 0 {
			r.Unplaced++
		}
		r.Feasible += float64(feasible) / float64(pods)
		now := time.Now()
		micros = append(micros, float64(now.Sub(last).Nanoseconds())/1e3)
		last = now
	}
	r.WallSeconds, r.CPUSeconds = last.Sub(start).Seconds(), cpuSeconds()-cpu
	r.Value, r.CPUMicros = float64(pods)/r.WallSeconds, r.CPUSeconds*1e6/float64(pods)
	slices.Sort(micros)
	perMille := func(share int) float64 { return micros[(pods-1)*share/1000] }
	r.P50Micros, r.P99Micros, r.P999Micros, r.MaxMicros = perMille(500), perMille(990), perMille(999), micros[pods-1]
	r.PeakMiB = peakMiB()
	return r, nil
}

// peakMiB is the peak memory of this process. The value of getrusage is not used: it includes the parent process.
func peakMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kib float64
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fmt.Sscan(after, &kib)
	return kib / 1024
}

// cpuSeconds is the CPU time of this process: decisions and the garbage collector use several cores.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
