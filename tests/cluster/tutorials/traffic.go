package main

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"berth.test/cluster/kubelet"
)

var (
	bandwidthLine = regexp.MustCompile(`(?m)^I.*\] "?\[NetworkTraffic\] node '(\S+)' bandwidth: (\d+)`)
	finalLine     = regexp.MustCompile(`(?m)^I.*\] "?\[NetworkTraffic\] Nodes final score: \[(.*)\]`)
	finalScore    = regexp.MustCompile(`\{(\S+) (\d+)\}`)
)

// traffic is one mode in which NetworkTraffic compares nodes.
type traffic struct {
	mode   string
	query  string
	winner string
}

// The tutorial adds values of a counter, so the most recently booted node wins, however busy it is.
var traffics = []traffic{
	{"rate", `rate(node_network_receive_bytes_total{device="ens192"}[3m0s])`, "node4"},
	{"classic", `sum_over_time(node_network_receive_bytes_total{device="ens192"}[3m0s])`, "node6"},
}

// networkTraffic: a static pod that replaces kube-scheduler.
func (s *stage) networkTraffic(ctx context.Context) error {
	s.converts(ctx, "network-traffic/networktraffic-config.yaml")
	if err := s.copyToHost("network-traffic/kube-scheduler.yaml", "/etc/kubernetes/manifests/kube-scheduler.yaml"); err != nil {
		return err
	}
	for _, how := range traffics {
		change := []string{"timeRangeInMinutes: 3", "timeRangeInMinutes: 3\n      mode: " + how.mode}
		if how.mode == "rate" {
			change = nil // as in the tutorial
		}
		if err := s.copyToHost("network-traffic/networktraffic-config.yaml", "/etc/kubernetes/networktraffic-config.yaml", change...); err != nil {
			return err
		}
		if err := s.byTraffic(ctx, how); err != nil {
			return fmt.Errorf("mode %s: %w", how.mode, err)
		}
		s.clear(ctx)
	}
	return s.withoutPrometheus(ctx)
}

// withoutPrometheus: pods are scheduled without measurements.
func (s *stage) withoutPrometheus(ctx context.Context) error {
	s.monitoring.server.Stop()
	scheduler, err := s.staticPod(ctx)
	if err != nil {
		return err
	}
	if err := s.logs(ctx, scheduler, "Metric source unavailable"); err != nil {
		return err
	}
	if err := s.makePod(ctx, "without-prometheus", "default-scheduler"); err != nil {
		return err
	}
	if _, err := s.nodeOf(ctx, "without-prometheus"); err != nil {
		return err
	}
	if bandwidthLine.MatchString(scheduler.Logged()) {
		s.AddError("traffic is logged, but nothing is measured")
	}
	if err := s.monitoring.start(); err != nil {
		return err
	}
	return s.monitoring.scraped(ctx)
}

func (s *stage) byTraffic(ctx context.Context, how traffic) error {
	before, err := s.monitoring.query(ctx, how.query)
	if err != nil {
		return err
	}
	scheduler, err := s.staticPod(ctx)
	if err != nil {
		return err
	}
	if err := s.logs(ctx, scheduler, "All writes of the previous leader have been received"); err != nil {
		return err
	}
	s.line(scheduler, 'W', "--port: flag of an older release")
	s.line(scheduler, 'I', "[NetworkTraffic] args received. NetworkInterface: ens192; TimeRangeInMinutes: 3, Address: http://prometheus-server.monitoring:9090")
	if _, err := s.kubectl(ctx, "apply", "-f", s.example("network-traffic/test-deployment.yaml")); err != nil {
		return err
	}
	var nodes []string
	for i := range 3 {
		pod, err := s.podOf(ctx, "app=web", i)
		if err != nil {
			return err
		}
		node, err := s.nodeOf(ctx, pod)
		if err != nil {
			return err
		}
		note, err := s.event(ctx, pod, "Scheduled", "default-scheduler")
		if want := fmt.Sprintf("Successfully assigned default/%s to %s", pod, node); err != nil || note != want {
			s.AddError("the event's text is %q, not %q (%v)", note, want, err)
		}
		nodes = append(nodes, node)
	}
	after, err := s.monitoring.query(ctx, how.query)
	if err != nil {
		return err
	}
	s.checkPlaces(scheduler, how, nodes)
	s.checkTraffic(scheduler, how, before, after)
	return nil
}

// checkPlaces: while the scores stay the same, all pods are bound to the winner. If a poll occurs in between, the bound
// pods count.
func (s *stage) checkPlaces(scheduler *kubelet.Container, how traffic, nodes []string) {
	finals := finalLine.FindAllStringSubmatch(scheduler.Logged(), -1)
	changed := slices.ContainsFunc(finals, func(final []string) bool { return final[1] != finals[0][1] })
	for i, node := range nodes {
		if node != how.winner && (!changed || i == len(nodes)-1 && !slices.Contains(nodes, how.winner)) {
			s.AddError("mode %s: pods are on %v, not on %s", how.mode, nodes, how.winner)
			return
		}
	}
}

// checkTraffic evaluates the first decision: later ones count the pods that were bound meanwhile.
func (s *stage) checkTraffic(scheduler *kubelet.Container, how traffic, before, after map[string]float64) {
	final := finalLine.FindStringSubmatchIndex(scheduler.Logged())
	if final == nil {
		s.AddError("mode %s: no final scores:\n%s", how.mode, scheduler.Logged())
		return
	}
	measured := make(map[string]int64)
	for _, line := range bandwidthLine.FindAllStringSubmatch(scheduler.Logged()[:final[0]], -1) {
		value, _ := strconv.ParseInt(line[2], 10, 64)
		measured[line[1]] = value
		if float64(value) < 0.9*before[line[1]] || float64(value) > 1.1*after[line[1]] {
			s.AddError("mode %s: Prometheus's value of %s is %.0f before and %.0f after: %s", how.mode, line[1], before[line[1]], after[line[1]], line[0])
		}
	}
	if len(measured) != len(loads) {
		s.AddError("mode %s: %d nodes are logged, not %d", how.mode, len(measured), len(loads))
		return
	}
	highest := int64(math.MinInt64)
	for _, value := range measured {
		highest = max(highest, value)
	}
	scores := make(map[string]int64)
	for _, one := range finalScore.FindAllStringSubmatch(scheduler.Logged()[final[2]:final[3]], -1) {
		scores[one[1]], _ = strconv.ParseInt(one[2], 10, 64)
	}
	for node, value := range measured {
		if want := 100 - value*100/highest; scores[node] != want {
			s.AddError("mode %s: the score of %s is %d, not 100 - %d*100/%d = %d", how.mode, node, scores[node], value, highest, want)
		}
		if scores[node] > scores[how.winner] {
			s.AddError("mode %s: %s wins, not %s", how.mode, node, how.winner)
		}
	}
	if score, there := scores["node7"]; !there || score >= scores[how.winner] {
		s.AddError("mode %s: node7 without measurements has %d (%v), the winner %s has %d", how.mode, score, there, how.winner, scores[how.winner])
	}
}
