package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"berth.test/cluster/controlplane"
)

// trial is a fault with the expected log line and metric.
type trial struct {
	name    string
	fault   fault
	lasting time.Duration
	metric  string // a pattern of samples that must increase
	logged  string
}

func trials(long bool) []trial {
	hang := 6 * time.Second
	if long {
		hang = 3 * time.Minute
	}
	return []trial{
		{"hangs", hanging, hang, `berth_reflector_failures_total\{.*reason="silent"`, "deadline exceeded"},
		{"resets connections", resetting, 3 * time.Second, `berth_reflector_failures_total\{.*reason="broken"`, "partial message"},
		{"throttles", throttling, 3 * time.Second, `rest_client_requests_total\{code="429"`, "Retrying request"},
		{"fails", failing, 3 * time.Second, `rest_client_requests_total\{code="500"`, "something broke"},
		{"sends malformed data", garbage, 3 * time.Second, `berth_reflector_failures_total\{.*reason="undecodable"`, "not valid JSON"},
		{"stops in the middle of a document", halving, 3 * time.Second, `berth_reflector_failures_total\{.*reason="(broken|undecodable)"`, "ended within a frame"},
		{"mixes up events", reorder, 5 * time.Second, `berth_reflector_failures_total\{.*reason="disorder"`, "event out of order"},
	}
}

// runFaults injects every fault, one after the other. The scheduler must recover by itself: pods created
// meanwhile are bound soon after, with a log line and a metric that show the fault.
func runFaults(ctx context.Context, o *options, directory string, out io.Writer) error {
	printf := newPrinter(out)
	if !o.isBerth() {
		return fmt.Errorf("--faults looks at berth's own metrics")
	}
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return err
	}
	const nodes, perTrial = 50, 40
	all := trials(o.long)
	work := newPlainWorkload(nodes, perTrial*(len(all)+1))
	if err := work.prepare(ctx, control.Client); err != nil {
		return err
	}
	reader, err := startReader(ctx, control.Client)
	if err != nil {
		return err
	}
	defer reader.stop()
	proxy, err := startFaultProxy(control)
	if err != nil {
		return err
	}
	defer proxy.stop()
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	idle := "3s"
	if o.long {
		idle = "90s"
	}
	// The proxy terminates TLS, so authentication needs a token.
	scheduler, err := control.StartSchedulerAt(proxy.url, children, "scheduler-under-test", o.scheduler, "default-scheduler", "token",
		o.berthFlags(ports[0], "--berth-watch-idle-timeout="+idle)...)
	if err != nil {
		return err
	}
	pods := work.fitting
	next := func() []*v1.Pod {
		taken := pods[:perTrial]
		pods = pods[perTrial:]
		return taken
	}
	if err := bindAll(ctx, control, reader, next(), scheduler); err != nil {
		return fmt.Errorf("before any fault: %w", err)
	}
	var violations []string
	for _, t := range all {
		before, err := metricSum(ports[0], t.metric)
		if err != nil {
			return err
		}
		logged := logSize(directory, scheduler)
		proxy.set(t.fault)
		batch := next()
		if err := createPods(ctx, control.Client, batch[:perTrial/2]); err != nil {
			return err
		}
		if err := controlplane.Pause(ctx, t.lasting); err != nil {
			return err
		}
		proxy.set(none)
		ended := time.Now()
		if err := bindAll(ctx, control, reader, batch, scheduler); err != nil {
			return fmt.Errorf("the API server %s: %w", t.name, err)
		}
		after, err := metricSum(ports[0], t.metric)
		if err != nil {
			return err
		}
		if after <= before {
			violations = append(violations, fmt.Sprintf("the API server %s: no metric %s", t.name, t.metric))
		}
		if !strings.Contains(logSince(directory, scheduler, logged), t.logged) {
			violations = append(violations, fmt.Sprintf("the API server %s: nothing logged like %q", t.name, t.logged))
		}
		printf("the API server %s for %s: all bound %.1f s later, counted %.0f times", t.name, t.lasting, time.Since(ended).Seconds(), after-before)
	}
	if code := scheduler.Stop(); code != "" {
		violations = append(violations, "the scheduler exited with "+code)
	}
	return verdict(append(violations, reader.history().check(work)...), out, printf)
}

// bindAll creates missing pods and waits until all are bound.
func bindAll(ctx context.Context, control *controlplane.ControlPlane, r *reader, pods []*v1.Pod, scheduler *controlplane.Child) error {
	if err := createWithRetries(ctx, control.Client, pods); err != nil {
		return err
	}
	_, err := waitUntilBound(ctx, r, &workload{fitting: pods}, scheduler.Alive, stepTimeout)
	return err
}

func logSize(directory string, scheduler *controlplane.Child) int64 {
	info, err := os.Stat(filepath.Join(directory, scheduler.Name+".log"))
	if err != nil {
		return 0
	}
	return info.Size()
}

func logSince(directory string, scheduler *controlplane.Child, offset int64) string {
	text, err := os.ReadFile(filepath.Join(directory, scheduler.Name+".log"))
	if err != nil {
		return ""
	}
	return string(text[min(offset, int64(len(text))):])
}
