package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

// profiles are the scheduler names of the identical profiles.
var profiles = []string{"default-scheduler", "second-scheduler"}

// priorities are the priority classes of pods. Class polite has the value of high and preemptionPolicy Never.
var priorities = map[string]int32{"low": 10, "middle": 100, "high": 1000, "polite": 1000}

// A lane is a separate control plane, in which one scenario runs at a time.
type lane struct {
	name     string
	control  *controlplane.ControlPlane
	children *controlplane.Children
	proxy    *proxy
	release  controlplane.Release
	served   controlplane.DeviceKinds

	gates     string // of API server and scheduler, see options.gates
	kind      kind
	scheduler *controlplane.Child
}

// kind is one of the compared schedulers.
type kind struct {
	name    string
	command []string
	berth   bool
}

// numbered is the same scheduler for a further run: with a log and namespaces of its own.
func (k kind) numbered(run int) kind {
	k.name = fmt.Sprintf("%s-%d", k.name, run)
	return k
}

// controllers are those that scenarios with volumes, budgets and resource claims need. Others would interfere: one deletes
// pods of missing nodes.
var controllers = []string{"persistentvolume-binder-controller", "ephemeral-volume-controller", "disruption-controller", "resourceclaim-controller"}

func openLane(ctx context.Context, name, real, directory, gates string) (*lane, error) {
	directory = filepath.Join(directory, name)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	l := &lane{name: name, children: &controlplane.Children{Directory: directory}, gates: gates}
	var apiServer []string
	if gates != "" {
		apiServer = []string{"--feature-gates=" + gates, "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"}
	}
	var err error
	if l.control, err = controlplane.Start(ctx, real, directory, l.children, apiServer...); err != nil {
		return l, err
	}
	if l.release, err = l.control.Release(); err != nil {
		return l, err
	}
	if l.served, err = l.control.DeviceKinds(); err != nil {
		return l, err
	}
	if l.proxy, err = startProxy(l.control); err != nil {
		return l, err
	}
	chosen := controllers
	if !l.served.Claims {
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(name string) bool { return name == "resourceclaim-controller" })
	}
	if _, err := l.control.StartControllers(chosen...); err != nil {
		return l, err
	}
	for name, value := range priorities {
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
		if name == "polite" {
			never := v1.PreemptNever
			class.PreemptionPolicy = &never
		}
		_, err := l.control.Client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil {
			return l, err
		}
		if err := l.control.AwaitPriorityClass(ctx, name); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *lane) close() {
	l.children.StopAll()
	if l.proxy != nil {
		l.proxy.stop()
	}
}

// use replaces the running scheduler by one of this kind.
func (l *lane) use(ctx context.Context, k kind) error {
	l.stopScheduler()
	l.kind = k
	if err := l.startScheduler(); err != nil {
		return err
	}
	// The scheduler is ready when it binds.
	return l.play(ctx, &scenario{name: "readiness", run: func(s *stage) {
		s.node("n-1")
		s.pod("probe")
		s.bound("probe")
	}}, "probe-"+k.name).err
}

func (l *lane) stopScheduler() string {
	if l.scheduler == nil {
		return ""
	}
	defer func() { l.scheduler = nil }()
	return l.scheduler.Stop()
}

func (l *lane) startScheduler() error {
	// The proxy terminates TLS, so authentication needs a token.
	kubeconfig, err := l.control.WriteKubeconfig(l.proxy.server.URL, l.kind.name, "token")
	if err != nil {
		return err
	}
	config := l.control.File(l.kind.name + ".yaml")
	if err := os.WriteFile(config, []byte(schedulerConfig(l.release, kubeconfig)), 0o600); err != nil {
		return err
	}
	ports, err := controlplane.FreePorts(2)
	if err != nil {
		return err
	}
	args := []string{"--kubeconfig=" + kubeconfig, "--config=" + config, "--v=3", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0])}
	if l.gates != "" {
		args = append(args, "--feature-gates="+l.gates)
	}
	if l.kind.berth {
		args = append(args, "--berth-http-metrics", fmt.Sprintf("--berth-http-address=127.0.0.1:%d", ports[1]))
	}
	l.scheduler, err = l.children.Start(l.kind.name, l.kind.command, args...)
	return err
}

// schedulerConfig is the configuration of both schedulers. All profiles have a short timeout for devices, if the release's
// kube-scheduler has the argument.
func schedulerConfig(release controlplane.Release, kubeconfig string) string {
	if release.Minor < bindingTimeoutSince {
		return controlplane.SchedulerConfig(kubeconfig, profiles...)
	}
	const last = "      bindTimeoutSeconds: "
	var text strings.Builder
	for line := range strings.Lines(controlplane.SchedulerConfig(kubeconfig, profiles...)) {
		text.WriteString(line)
		if strings.HasPrefix(line, last) {
			fmt.Fprintf(&text, "  - name: DynamicResources\n    args:\n      bindingTimeout: %v\n", bindingTimeout)
		}
	}
	return text.String()
}

// attempts are the times of a pod's scheduling attempts in the scheduler's log.
func (l *lane) attempts(pod string) []time.Time {
	text, err := os.ReadFile(filepath.Join(l.children.Directory, l.kind.name+".log"))
	if err != nil {
		return nil
	}
	var times []time.Time
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, `"Attempting to schedule pod" pod="`+pod+`"`) || len(line) < 21 {
			continue
		}
		if at, err := time.Parse("0102 15:04:05.000000", line[1:21]); err == nil {
			times = append(times, at)
		}
	}
	return times
}

// pool runs scenarios in several lanes in parallel.
type pool struct{ lanes []*lane }

func openPool(ctx context.Context, size int, real, directory, gates string) (*pool, error) {
	c := &pool{lanes: make([]*lane, size)}
	failures := make([]error, size)
	var group sync.WaitGroup
	for i := range size {
		group.Go(func() { c.lanes[i], failures[i] = openLane(ctx, fmt.Sprint("lane-", i), real, directory, gates) })
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *pool) close() {
	for _, l := range c.lanes {
		if l != nil {
			l.close()
		}
	}
}

// play runs all scenarios with schedulers of one kind and returns their outcomes.
func (c *pool) play(ctx context.Context, k kind, scenarios []*scenario) ([]*outcome, error) {
	outcomes := make([]*outcome, len(scenarios))
	failures := make([]error, len(c.lanes))
	next := make(chan int, len(scenarios))
	// The longest scenarios start first.
	order := make([]int, len(scenarios))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return scenarios[b].seconds - scenarios[a].seconds })
	for _, i := range order {
		next <- i
	}
	close(next)
	var group sync.WaitGroup
	for n, l := range c.lanes {
		group.Go(func() {
			if failures[n] = l.use(ctx, k); failures[n] != nil {
				return
			}
			for i := range next {
				outcomes[i] = l.play(ctx, scenarios[i], fmt.Sprintf("s-%d-%s", i+1, k.name))
			}
			l.stopScheduler()
		})
	}
	group.Wait()
	for n, err := range failures {
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", k.name, c.lanes[n].name, err)
		}
	}
	return outcomes, ctx.Err()
}

// playAgain plays some of the scenarios again, those at these places, and replaces their outcomes.
func (c *pool) playAgain(ctx context.Context, outcomes []*outcome, scenarios []*scenario, places []int, k kind) error {
	if len(places) == 0 {
		return nil
	}
	var chosen []*scenario
	for _, place := range places {
		chosen = append(chosen, scenarios[place])
	}
	again, err := c.play(ctx, k, chosen)
	if err != nil {
		return err
	}
	for i, place := range places {
		outcomes[place] = again[i]
	}
	return nil
}
