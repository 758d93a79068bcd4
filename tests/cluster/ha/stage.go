package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// replica is one scheduler.
type replica struct {
	kind  string
	name  string // of its log
	child *controlplane.Child
	proxy *controlplane.TCPProxy
	stop  func() // what stands before the API server
	port  int    // berth's metrics
}

// breakingPod is the pod for which the plugin of tests/invariant violates an invariant.
const breakingPod = "breaks-an-invariant"

// stage is one scenario in its own namespace, with its own Lease and profile.
type stage struct {
	*options
	control  *controlplane.ControlPlane
	children *controlplane.Children
	watcher  *watcher
	scenario scenario
	id       string

	replicas []*replica
	names    []string  // of the pods
	more     []string  // pods that the fault created
	faultAt  time.Time // when the leader was stopped
	thawedAt time.Time
	code     int // exit code of the old leader
	left     bool
	reported float64 // overcommitted nodes reported by replicas
	barrier  string
	quiet    string // the same of the first leader, without changes
	wrong    []string
}

func (s *stage) addError(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// play returns a result line and the errors.
func (s *stage) play(ctx context.Context) (string, []string, error) {
	client := s.control.Client
	if _, err := client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.id}}, metav1.CreateOptions{}); err != nil {
		return "", nil, err
	}
	defer s.clear()
	for i, kind := range s.scenario.replicas {
		if err := s.start(ctx, i, kind); err != nil {
			return "", nil, err
		}
	}
	if err := s.measureQuiet(ctx); err != nil {
		return "", nil, err
	}
	if err := s.createLargeGroup(ctx); err != nil {
		return "", nil, err
	}
	creator := startCreator(ctx, client, s.id, s.id)
	err := s.change(ctx)
	names, createErr := creator.stop()
	s.names = append(names, s.more...)
	if err == nil {
		err = createErr
	}
	if err != nil {
		return "", nil, err
	}
	if err := s.waitUntilBound(ctx); err != nil {
		s.addError("%v", err)
	}
	s.collect()
	s.stopFollowers()
	row := s.check(ctx)
	return row, s.wrong, nil
}

func (s *stage) start(ctx context.Context, i int, kind string) error {
	r := &replica{kind: kind, name: fmt.Sprintf("%s-%d-%s", s.id, i, kind)}
	proxy, err := controlplane.StartTCPProxy(strings.TrimPrefix(s.control.URL, "https://"))
	if err != nil {
		return err
	}
	r.proxy, r.stop = proxy, proxy.Stop
	return s.startAt(ctx, r, proxy.URL(), "cert")
}

// startAt starts it with another URL of the API server.
func (s *stage) startAt(ctx context.Context, r *replica, url, auth string) error {
	kubeconfig, err := s.control.WriteKubeconfig(url, r.name, auth)
	if err != nil {
		return err
	}
	config, text := s.control.File(r.name+".yaml"), s.config(kubeconfig)
	if r.kind == "breaking" {
		text += "  plugins: {filter: {enabled: [{name: Defective}]}}\n"
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return err
	}
	r.port = ports[1]
	command, args := []string{s.Berth, "scheduler"}, []string{"--config=" + config, "-v=3", groupGate,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0])}
	switch r.kind {
	case "berth":
		args = append(args, "--berth-http-metrics", fmt.Sprintf("--berth-http-address=127.0.0.1:%d", r.port))
	case "breaking":
		command = []string{filepath.Join(filepath.Dir(s.Berth), "breaking_scheduler")}
		args = append(args, "--berth-http-metrics", fmt.Sprintf("--berth-http-address=127.0.0.1:%d", r.port))
	default:
		command = []string{s.Real, "kube-scheduler"}
		args = append(args, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	}
	if r.child, err = s.children.Start(r.name, command, args...); err != nil {
		return err
	}
	s.replicas = append(s.replicas, r)
	// One after the other, so that the first one becomes the leader.
	if len(s.replicas) == 1 {
		return r.child.UntilLogged(ctx, controlplane.LogsLeading)
	}
	return r.child.UntilLogged(ctx, controlplane.LogsStandingBy)
}

// config fills nodes one after the other, so that a decision from an outdated view overcommits one.
func (s *stage) config(kubeconfig string) string {
	return fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
  qps: 5000
  burst: 5000
%sprofiles:
- schedulerName: %s
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources:
        - name: cpu
          weight: 1
`, kubeconfig, s.election.Config(s.id), s.id)
}

// change stops the leader while pods are created, and waits until another one has bound some.
func (s *stage) change(ctx context.Context) error {
	leader := s.replicas[0]
	if err := s.waitForBindings(ctx, time.Time{}, 2*perSecond); err != nil {
		return err
	}
	s.faultAt = time.Now()
	switch s.scenario.fault {
	case killed:
		leader.child.Signal(syscall.SIGKILL)
	case terminated:
		leader.child.Signal(syscall.SIGTERM)
	case frozen:
		leader.child.Signal(syscall.SIGSTOP)
	case cutOff:
		leader.proxy.Block(true)
	case silenced:
		leader.proxy.Hang(true)
	case broken:
		s.more = []string{breakingPod}
		if _, err := s.control.Client.CoreV1().Pods(s.id).Create(ctx, newPod(s.id, breakingPod, s.id), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	before := s.holder()
	err := controlplane.Until(ctx, 4*s.election.Lease, "another leader", func() (bool, error) {
		now := s.holder()
		return now != "" && now != before, nil
	})
	if err != nil {
		return err
	}
	if err := s.waitForBindings(ctx, time.Now(), perSecond); err != nil {
		return err
	}
	switch s.scenario.fault {
	case frozen:
		s.thawedAt = time.Now()
		leader.child.Signal(syscall.SIGCONT)
	case cutOff:
		leader.proxy.Block(false)
	case silenced:
		leader.proxy.Hang(false)
	}
	s.code, s.left = leader.child.Exited(s.election.Renew + s.election.Retry + 10*time.Second)
	return s.waitForBindings(ctx, time.Now(), perSecond/2)
}

func (s *stage) holder() string {
	seen := s.watcher.leasesOf(s.id)
	if len(seen) == 0 || seen[len(seen)-1].lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *seen[len(seen)-1].lease.Spec.HolderIdentity
}

// waitForBindings waits until some pods have been bound since a time.
func (s *stage) waitForBindings(ctx context.Context, since time.Time, count int) error {
	return controlplane.Until(ctx, 4*s.election.Lease+10*time.Second, fmt.Sprintf("%d bindings", count), func() (bool, error) {
		bound := 0
		for _, at := range firstBound(s.watcher.podsOf(s.id)) {
			if at.After(since) {
				bound++
			}
		}
		return bound >= count, nil
	})
}

func firstBound(history []podSeen) map[string]time.Time {
	bound := make(map[string]time.Time)
	for _, seen := range history {
		if _, known := bound[seen.pod.Name]; !known && seen.pod.Spec.NodeName != "" {
			bound[seen.pod.Name] = seen.at
		}
	}
	return bound
}

func (s *stage) waitUntilBound(ctx context.Context) error {
	return controlplane.Until(ctx, 30*time.Second, "all pods to be bound", func() (bool, error) {
		return len(firstBound(s.watcher.podsOf(s.id))) >= len(s.names), nil
	})
}

var overcommitted = regexp.MustCompile(`(?m)^berth_overcommitted_placements_total (\S+)`)
var barrier = regexp.MustCompile(`(?m)^berth_leader_barrier_seconds_sum (\S+)`)

// metrics are those of a berth replica.
func (r *replica) metrics() ([]byte, error) {
	answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", r.port))
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// quietLimit is the maximum time of the freshness check without changes in the cluster.
const quietLimit = 500 * time.Millisecond

// measureQuiet measures how long the first leader took to prove that its view is fresh. No pod changes then,
// so everything must be compared.
func (s *stage) measureQuiet(ctx context.Context) error {
	leader := s.replicas[0]
	if leader.kind != "berth" {
		return nil
	}
	return controlplane.Until(ctx, 20*time.Second, "the first leader's view to be fresh", func() (bool, error) {
		text, err := leader.metrics()
		if err != nil {
			return false, err
		}
		found := barrier.FindSubmatch(text)
		if found == nil || string(found[1]) == "0" {
			return false, nil
		}
		seconds, err := strconv.ParseFloat(string(found[1]), 64)
		s.quiet = fmt.Sprintf(", in quiet %.0f ms", 1000*seconds)
		if time.Duration(seconds*float64(time.Second)) > quietLimit {
			s.addError("the proof of a fresh view took %.3f s while nothing happened", seconds)
		}
		return true, err
	})
}

// collect reads the metrics of berth's replicas.
func (s *stage) collect() {
	for _, r := range s.replicas[1:] {
		if r.kind != "berth" {
			continue
		}
		text, err := r.metrics()
		if err != nil {
			s.addError("the metrics of %s: %v", r.name, err)
			continue
		}
		if found := overcommitted.FindSubmatch(text); found != nil {
			count, _ := strconv.ParseFloat(string(found[1]), 64)
			s.reported += count
		}
		if found := barrier.FindSubmatch(text); found != nil {
			seconds, _ := strconv.ParseFloat(string(found[1]), 64)
			s.barrier = fmt.Sprintf(", view proved fresh in %.0f ms", 1000*seconds)
		}
	}
}

// stopFollowers terminates the other replicas: each must exit with 0.
func (s *stage) stopFollowers() {
	for _, r := range s.replicas[1:] {
		r.child.Signal(syscall.SIGTERM)
	}
	for _, r := range s.replicas[1:] {
		code, left := r.child.Exited(10 * time.Second)
		if !left || code != 0 {
			s.addError("%s left after SIGTERM with %d (%v), not with 0", r.name, code, left)
		}
	}
}

// clear restores the nodes.
func (s *stage) clear() {
	for _, r := range s.replicas {
		if r.child != nil && r.child.Running() {
			r.child.Signal(syscall.SIGCONT)
			r.child.Kill()
		}
		r.stop()
	}
	now := int64(0)
	pods := s.control.Client.CoreV1().Pods(s.id)
	_ = pods.DeleteCollection(context.Background(), metav1.DeleteOptions{GracePeriodSeconds: &now}, metav1.ListOptions{})
	_ = s.clearClaims(context.Background())
	_ = controlplane.Until(context.Background(), 20*time.Second, "pods to go", func() (bool, error) {
		left, err := pods.List(context.Background(), metav1.ListOptions{Limit: 1})
		return err == nil && len(left.Items) == 0, nil
	})
}
