package clients

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// bindings are the nodes to which pods were bound, and the pods that were bound to a second one.
type bindings struct {
	nodes map[string]string
	twice []string
}

// observe watches the pods from now on. The returned function waits until the watch has delivered all bindings that
// the server has at that time, and returns what the watch delivered.
func (c *cluster) observe(ctx context.Context, t *testing.T) func() bindings {
	t.Helper()
	list := must[*corev1.PodList](t)(c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{}))
	watching := must[watch.Interface](t)(c.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}))
	var lock sync.Mutex
	result := bindings{nodes: map[string]string{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watching.ResultChan() {
			got, ok := event.Object.(*corev1.Pod)
			if !ok || got.Spec.NodeName == "" {
				continue
			}
			lock.Lock()
			if before := result.nodes[got.Name]; before != "" && before != got.Spec.NodeName {
				result.twice = append(result.twice, got.Name)
			}
			result.nodes[got.Name] = got.Spec.NodeName
			lock.Unlock()
		}
	}()
	delivered := func() int {
		lock.Lock()
		defer lock.Unlock()
		return len(result.nodes)
	}
	return func() bindings {
		t.Helper()
		// A list may be ahead of a watch.
		bound := must[*corev1.PodList](t)(c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="}))
		within(t, 10*time.Second, "bindings on the watch", func() bool { return delivered() >= len(bound.Items) })
		watching.Stop()
		<-ended
		return result
	}
}

func (c *cluster) allBound(ctx context.Context, count int) func() bool {
	return func() bool {
		list, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="})
		return err == nil && len(list.Items) == count
	}
}

func schedulerConfig(t *testing.T, kubeconfig, profile string) string {
	t.Helper()
	return writeFile(t, profile+".yaml", fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s, qps: 5000, burst: 5000}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: %s
`, kubeconfig, profile))
}

func berthScheduler(t *testing.T, kubeconfig, profile string) func() {
	config := writeFile(t, "berth-"+profile+".yaml", fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: %s
`, kubeconfig, profile))
	return run(t, os.Getenv("BERTH"), "scheduler", "--config="+config, "--kubeconfig="+kubeconfig, "--secure-port=0", "--berth-http-address=127.0.0.1:0")
}

// realScheduler runs kube-scheduler with its defaults, which include protobuf.
func realScheduler(t *testing.T, kubeconfig, profile string) func() {
	real := os.Getenv("BERTH_REAL")
	if real == "" {
		t.Skip("BERTH_REAL does not name the control plane (tests/cluster/build)")
	}
	return run(t, real, "kube-scheduler", "--config="+schedulerConfig(t, kubeconfig, profile), "--secure-port=0", "--authentication-skip-lookup")
}

// The two schedulers run alternately on one cluster; pods are created during the changes.
func TestSchedulersTakeTurns(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			flags := []string{"--nodes=20"}
			if scheme == "https" {
				flags = append(flags, "--https")
			}
			c := start(t, flags...)
			ctx := context.Background()
			observed := c.observe(ctx, t)
			const turns, each = 4, 60
			for turn := range turns {
				// Half of the pods are pending when the scheduler starts.
				c.pods(t, fmt.Sprintf("early-%d", turn), "default-scheduler", each/2)
				scheduler := berthScheduler
				if turn%2 == 1 {
					scheduler = realScheduler
				}
				stop := scheduler(t, c.kubeconfig, "default-scheduler")
				c.pods(t, fmt.Sprintf("late-%d", turn), "default-scheduler", each/2)
				within(t, 60*time.Second, fmt.Sprintf("turn %d", turn), c.allBound(ctx, each*(turn+1)))
				stop()
			}
			if result := observed(); len(result.nodes) != turns*each || len(result.twice) > 0 {
				t.Errorf("%d pods bound, bound twice: %v", len(result.nodes), result.twice)
			}
		})
	}
}

// Both in parallel, each for its own pods.
func TestSchedulersSideBySide(t *testing.T) {
	c := start(t, "--nodes=20")
	ctx := context.Background()
	observed := c.observe(ctx, t)
	stopBerth := berthScheduler(t, c.kubeconfig, "default-scheduler")
	stopReal := realScheduler(t, c.kubeconfig, "other-scheduler")
	const each = 150
	c.pods(t, "ours", "default-scheduler", each)
	c.pods(t, "other", "other-scheduler", each)
	within(t, 60*time.Second, "all bound", c.allBound(ctx, 2*each))
	stopBerth()
	stopReal()
	if result := observed(); len(result.nodes) != 2*each || len(result.twice) > 0 {
		t.Errorf("%d pods bound, bound twice: %v", len(result.nodes), result.twice)
	}
	byReporter := map[string]int{}
	list := must[*corev1.EventList](t)(c.client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=Scheduled"}))
	for _, event := range list.Items {
		byReporter[event.ReportingController]++
	}
	if byReporter["default-scheduler"] != each || byReporter["other-scheduler"] != each {
		t.Errorf("events: %v", byReporter)
	}
}
