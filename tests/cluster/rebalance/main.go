// Command rebalance runs berth rebalance with everything real but the kubelet: an API server with RBAC and an audit log,
// the controllers of Deployments and disruption budgets, Prometheus, node_exporter, and processes that use the CPU.
//
// A node is a node_exporter whose procfs has the CPU time of the processes that are its pods. Two replicas of berth
// rebalance run with the roles of deploy/rebalance, first as a dry run, then with evictions. The leader is killed, and the
// API server refuses evictions of the next one by a disruption budget for a while. No request may be forbidden, each verb of
// each rule must have been used, and the metrics must be served over HTTPS only to those who may read them.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"berth.test/cluster/controlplane"
)

type options struct {
	controlplane.Common
	manifests string
}

func parse(args []string) (*options, error) {
	var o options
	flags := o.Flags("rebalance", "--berth PATH", "Runs berth rebalance with a real API server, Prometheus and node_exporter. About seven minutes.")
	flags.StringVar(&o.manifests, "manifests", "", "the directory deploy/rebalance; found from the root of the tree or tests/")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	for _, program := range []string{"prometheus", "promtool", "prometheus-node-exporter"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%w (script/setup --monitoring installs it)", err)
		}
	}
	if err := controlplane.InTree(&o.manifests, "deploy/rebalance"); err != nil {
		return nil, err
	}
	return &o, o.CompleteWithBerth()
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "burn" {
		burn(os.Args[2])
		return
	}
	controlplane.Main("rebalance", parse, run)
}

func run(ctx context.Context, o *options, directory string) error {
	began := time.Now()
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	s := &stage{options: o, children: children, began: began}
	if err := s.setUp(ctx, directory); err != nil {
		return err
	}
	defer s.stopPods()
	for _, step := range []struct {
		name string
		play func(ctx context.Context) error
	}{
		{"a dry run proposes a move and makes none", s.dryRun},
		{"metrics are served only to authorized clients", s.https},
		{"the pod moves, once", s.evict},
		{"the leader is killed, and the standby continues with the stored moves", s.failOver},
		{"the API server refuses an eviction, and permits it later", s.refused},
		{"the roles are sufficient and minimal", s.roles},
	} {
		if err := step.play(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Printf("%s (%.0f s)\n", step.name, time.Since(began).Seconds())
	}
	return nil
}

// --- the steps ---

func (s *stage) dryRun(ctx context.Context) error {
	before, err := s.pods(ctx)
	if err != nil {
		return err
	}
	if err := s.apply(ctx, "rbac.yaml", "serving.yaml"); err != nil {
		return err
	}
	if err := s.startReplicas("dry", "--dry-run=true"); err != nil {
		return err
	}
	if err := s.wait(ctx, 150*time.Second, "a proposed move", func() bool { return s.metric(`berth_rebalance_evictions_total{result="dry-run"}`) >= 1 }); err != nil {
		return err
	}
	after, err := s.pods(ctx)
	if err != nil {
		return err
	}
	if fmt.Sprint(before) != fmt.Sprint(after) {
		return fmt.Errorf("the pods were %v and are %v", before, after)
	}
	if log := s.log("dry-0") + s.log("dry-1"); !strings.Contains(log, s.hot+" -> ") && !strings.Contains(log, `from="`+s.hot+`"`) {
		return fmt.Errorf("no log line about a move from %s", s.hot)
	}
	return nil
}

func (s *stage) https(ctx context.Context) error {
	reader, err := s.metricsReader(ctx)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		path, token string
		code        int
	}{
		{"/healthz", "", http.StatusOK},
		{"/livez", "", http.StatusOK},
		{"/readyz", "", http.StatusOK},
		{"/metrics", "", http.StatusForbidden}, // system:anonymous
		{"/metrics", "wrong", http.StatusUnauthorized},
		{"/metrics", s.control.Token, http.StatusForbidden},
		{"/metrics", reader, http.StatusOK},
	} {
		for _, replica := range s.replicas {
			code, text, err := get(fmt.Sprintf("https://127.0.0.1:%d%s", replica.port, one.path), one.token)
			if err != nil {
				return err
			}
			if code != one.code {
				return fmt.Errorf("%s with the token %.5s: %d, not %d: %s", one.path, one.token, code, one.code, text)
			}
		}
	}
	return s.stopReplicas()
}

func (s *stage) evict(ctx context.Context) error {
	if err := s.apply(ctx, "evict.yaml"); err != nil {
		return err
	}
	before, err := s.pods(ctx)
	if err != nil {
		return err
	}
	if err := s.startReplicas("evicting", "--dry-run=false", "--max-per-round=1", "--no-return="+noReturn.String()); err != nil {
		return err
	}
	if err := s.wait(ctx, 60*time.Second, "an eviction", func() bool { return s.metric(`berth_rebalance_evictions_total{result="evicted"}`) >= 1 }); err != nil {
		return err
	}
	// The next step needs another node that is busy for a minute, and one with room.
	next := ""
	if err := s.wait(ctx, 30*time.Second, "the replacement", func() bool {
		after, err := s.pods(ctx)
		if err != nil || len(after) != len(before) {
			return false
		}
		for name, node := range after {
			if _, old := before[name]; !old {
				s.target, next = node, s.other(node)
				return true
			}
		}
		return false
	}); err != nil {
		return err
	}
	if s.target == s.hot {
		return errors.New("the replacement is on the overloaded node again")
	}
	s.machines[s.hot].end("")
	if err := s.machines[next].heat(s, extraCores); err != nil {
		return err
	}
	s.second = next
	if note, err := s.eventOf(ctx, "Rebalanced"); err != nil || !strings.Contains(note, s.hot+" cpu was above") {
		return fmt.Errorf("the event: %q, %w", note, err)
	}
	moves, err := s.moves(ctx)
	if err != nil {
		return err
	}
	// The plan names one of several equally good nodes.
	if !strings.Contains(moves, `"from":"`+s.hot+`","to":"worker-`) || strings.Contains(moves, `"to":"`+s.hot+`"`) {
		return fmt.Errorf("the stored moves: %s", moves)
	}
	if err := s.wait(ctx, 60*time.Second, "a node without overload", func() bool { return s.metric("berth_rebalance_overloaded_nodes") == 0 }); err != nil {
		return err
	}
	if evicted := s.metric(`berth_rebalance_evictions_total{result="evicted"}`); evicted != 1 {
		return fmt.Errorf("%v evictions", evicted)
	}
	return nil
}

// failOver kills the leader. Its only move was made by the killed process, and the node that the workload left is idle now:
// only the stored history keeps the standby from moving a pod back to it.
func (s *stage) failOver(ctx context.Context) error {
	leader := s.leader()
	if leader == nil {
		return errors.New("no replica leads")
	}
	holder, err := s.holder(ctx)
	if err != nil {
		return err
	}
	leader.child.Kill()
	killed := time.Now()
	s.replicas = slices.DeleteFunc(s.replicas, func(r *replica) bool { return r == leader })
	if err := s.wait(ctx, 40*time.Second, "another leader", func() bool {
		now, err := s.holder(ctx)
		return err == nil && now != holder && now != "" && s.leader() != nil
	}); err != nil {
		return err
	}
	fmt.Printf("%s leads %.0f s after %s was killed\n", s.leader().name, time.Since(killed).Seconds(), leader.name)
	if err := s.wait(ctx, noReturn, "a pod that stays because of the stored move", func() bool {
		return s.metric(`berth_rebalance_rejected_total{reason="would-return"}`) >= 1
	}); err != nil {
		return err
	}
	if moves, err := s.moves(ctx); err != nil || strings.Count(moves, `"from"`) != 1 {
		return fmt.Errorf("the stored moves: %s, %w", moves, err)
	}
	return nil
}

// refused has a budget that permits an eviction by its status, which is not current: the API server refuses it.
func (s *stage) refused(ctx context.Context) error {
	before, err := s.pods(ctx)
	if err != nil {
		return err
	}
	// The controllers do not see this change of the budget.
	s.controllers.Signal(syscall.SIGSTOP)
	defer s.controllers.Signal(syscall.SIGCONT)
	if err := s.changeBudget(ctx); err != nil {
		return err
	}
	// Two refusals of one pod are one event with a count.
	if err := s.wait(ctx, 240*time.Second, "two refusals", func() bool { return s.metric(`berth_rebalance_evictions_total{result="refused"}`) >= 2 }); err != nil {
		return err
	}
	note, err := s.eventOf(ctx, "RebalancingFailed")
	if err != nil || !strings.Contains(note, "would violate the pod's disruption budget") || !strings.Contains(note, "next attempt in 1m") {
		return fmt.Errorf("the event: %q, %w", note, err)
	}
	moves, err := s.moves(ctx)
	if err != nil {
		return err
	}
	if strings.Count(moves, `"from"`) != 1 {
		return fmt.Errorf("a refused eviction is stored as a move: %s", moves)
	}
	if err := s.wait(ctx, 15*time.Second, "the count of the event", func() bool {
		return s.permissionUsed(controlplane.Permission{Verb: "patch", Group: "events.k8s.io", Resource: "events"})
	}); err != nil {
		return err
	}
	s.controllers.Signal(syscall.SIGCONT)
	if err := s.wait(ctx, 180*time.Second, "the eviction", func() bool { return s.metric(`berth_rebalance_evictions_total{result="evicted"}`) >= 1 }); err != nil {
		return err
	}
	if err := s.wait(ctx, 30*time.Second, "the replacement on another node", func() bool {
		after, err := s.pods(ctx)
		onNode := 0
		for name, node := range after {
			if _, old := before[name]; !old && node == s.second {
				return false
			}
			if node == s.second {
				onNode++
			}
		}
		return err == nil && len(after) == len(before) && onNode == 0
	}); err != nil {
		return err
	}
	if moves, err = s.moves(ctx); err != nil || strings.Count(moves, `"from"`) != 2 || !strings.Contains(moves, `"from":"`+s.second+`"`) {
		return fmt.Errorf("the stored moves: %s, %w", moves, err)
	}
	return s.checkEvictions()
}

// checkEvictions compares the requests of all replicas that evicted with the history and the delays after refusals.
func (s *stage) checkEvictions() error {
	if err := s.readAudit(); err != nil {
		return err
	}
	var codes []int
	var times []time.Time
	for _, r := range s.requests {
		if r.ObjectRef != nil && r.Resource() == "pods/eviction" {
			codes, times = append(codes, r.ResponseStatus.Code), append(times, r.RequestReceivedTimestamp)
			if len(times) > 1 {
				fmt.Printf("eviction answered with %d, %.0f s after the one before\n", r.ResponseStatus.Code, times[len(times)-1].Sub(times[len(times)-2]).Seconds())
			}
		}
	}
	if !slices.Equal(codes, []int{http.StatusCreated, http.StatusTooManyRequests, http.StatusTooManyRequests, http.StatusCreated}) {
		return fmt.Errorf("the evictions were answered with %v", codes)
	}
	for i, least := range []time.Duration{noReturn, time.Minute, 2 * time.Minute} {
		// Times of a history and of delays are rounded to a second.
		if between := times[i+1].Sub(times[i]); between < least-time.Second {
			return fmt.Errorf("eviction %d was requested %s after the one before, not %s", i+2, between, least)
		}
	}
	return nil
}

func (s *stage) roles(ctx context.Context) error {
	permissions, err := s.shippedPermissions(ctx)
	if err != nil {
		return err
	}
	if err := s.readAudit(); err != nil {
		return err
	}
	for _, p := range permissions {
		if !s.permissionUsed(p) {
			s.wrong = append(s.wrong, "never used: "+p.String())
		}
	}
	for _, r := range s.requests {
		if r.ResponseStatus.Code == http.StatusForbidden {
			s.wrong = append(s.wrong, "forbidden: "+r.Verb+" "+r.RequestURI)
		}
	}
	if len(s.wrong) > 0 {
		return errors.New(strings.Join(s.wrong, "\n"))
	}
	fmt.Printf("%d permissions, %d requests\n", len(permissions), len(s.requests))
	return nil
}
