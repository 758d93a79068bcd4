package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/v3"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

// runChaos kills the API server twice, cuts connections at random, and compacts the history from which the
// scheduler would resume; the first time when a claim is allocated and its pod is not bound yet. Meanwhile slices of
// devices are replaced, and bound pods with devices are deleted. At the end every pod must be bound once to a feasible
// node, the members of gangs included. At no time may a device be allocated twice, or a member of a gang that does not
// fit be bound; at the end no claim may have a device without a bound pod.
func runChaos(ctx context.Context, o *options, directory string, out io.Writer) error {
	for i := range o.seeds {
		seed := o.seed + uint64(i)
		fmt.Fprintf(out, "seed %d\n", seed)
		if err := chaosOnce(ctx, o, seed, filepath.Join(directory, fmt.Sprint("seed-", seed)), out); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

func chaosOnce(ctx context.Context, o *options, seed uint64, directory string, out io.Writer) error {
	printf := newPrinter(out)
	random := rand.New(rand.NewPCG(seed, 0))
	if err := makeDirectory(directory); err != nil {
		return err
	}
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	control, err := controlplane.Start(ctx, o.Real, directory, children, append(gangFlags, "--runtime-config=scheduling.k8s.io/v1beta1=true")...)
	if err != nil {
		return err
	}
	if _, err := control.StartControllers(claimController); err != nil {
		return err
	}
	work := newPlainWorkload(o.nodes, o.pods)
	work.addDevices()
	work.addGangs()
	if err := work.prepare(ctx, control.Client); err != nil {
		return err
	}
	if err := work.prepareGangs(ctx, control.Client); err != nil {
		return err
	}
	reader, etcd, err := startEtcdReader(ctx, control.Etcd, control.Client)
	if err != nil {
		return err
	}
	defer reader.stop()
	if err := work.devices.prepare(ctx, control.Client); err != nil {
		return err
	}
	proxy, err := controlplane.StartTCPProxy(strings.TrimPrefix(control.URL, "https://"))
	if err != nil {
		return err
	}
	defer proxy.Stop()
	metrics, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	scheduler, err := control.StartSchedulerAt(proxy.URL(), children, "scheduler-under-test", o.scheduler, "default-scheduler", o.auth, append(gangFlags, o.berthFlags(metrics[0])...)...)
	if err != nil {
		return err
	}
	started := time.Now()
	printf("%d nodes, scheduler started", len(work.nodes))

	creating, stopCreating := context.WithCancel(ctx)
	defer stopCreating()
	created := make(chan error, 1)
	go func() {
		created <- createWithRetries(creating, control.Client, slices.Concat(work.refused, work.fitting))
	}()
	cutting, stopCutting := context.WithCancel(ctx)
	defer stopCutting()
	go func() {
		// A separate generator: the other one belongs to the goroutine that kills.
		random := rand.New(rand.NewPCG(seed, 1))
		for controlplane.Pause(cutting, time.Duration(50+random.IntN(350))*time.Millisecond) == nil {
			proxy.Cut(random)
		}
	}()

	leaving := make(chan error, 1)
	go func() { leaving <- work.devices.deleteLeaving(ctx, control.Client, reader) }()
	var replaced atomic.Int64
	stopReplacing, replacing := make(chan struct{}), make(chan error, 1)
	go func() {
		replacing <- work.devices.replaceSlices(ctx, control.Client, rand.New(rand.NewPCG(seed, 2)), stopReplacing, &replaced)
	}()

	for i, share := range []float64{0.15 + 0.2*random.Float64(), 0.5 + 0.2*random.Float64()} {
		if err := waitForShare(ctx, reader, work, scheduler, share, o.timeout); err != nil {
			return err
		}
		claims, err := crash(ctx, control, etcd, proxy, reader, random, i == 1)
		if err != nil {
			return err
		}
		printf("API server killed with %d claims in flight, restarted with %d pods bound", claims, reader.countBound(work.fitting))
	}
	if err := <-created; err != nil {
		return err
	}
	if _, err := waitUntilBound(ctx, reader, work, scheduler, o.timeout); err != nil {
		return err
	}
	stopCutting()
	if err := <-leaving; err != nil {
		return err
	}
	close(stopReplacing)
	if err := <-replacing; err != nil {
		return err
	}
	printf("all %d pods bound after %.1f s, %d connections cut, %.1f CPU seconds", len(work.fitting), time.Since(started).Seconds(), proxy.Cuts(), scheduler.CPUSeconds())

	violations := reader.waitUntilReleased(ctx)
	reader.mutex.Lock()
	violations = append(violations, reader.broken...)
	reader.mutex.Unlock()
	printf("%d gangs of %d pods", len(work.gangs)-1, gangSize)
	printf("%d pods had a device of %d slices, which were replaced %d times", len(work.fitting)/5, len(work.devices.slices), replaced.Load())
	if o.isBerth() {
		expired, err := metricSum(metrics[0], `berth_reflector_failures_total\{.*reason="expired"`)
		if err != nil {
			return err
		}
		if expired == 0 {
			violations = append(violations, "no watch was listed again after the compaction")
		}
		printf("%.0f watches ended because their version is gone", expired)
	}
	if code := scheduler.Stop(); code != "" {
		printf("the scheduler exited with %s", code)
	}
	return verdict(append(violations, reader.history().check(work)...), out, printf)
}

// crash kills the API server and restarts it. With a compaction the scheduler is disconnected meanwhile and
// objects are changed, so that its last version is gone when it reconnects. Without it waits for a moment in which a
// claim is allocated and its pod not bound. Returns the number of these claims.
func crash(ctx context.Context, c *controlplane.ControlPlane, etcd *clientv3.Client, proxy *controlplane.TCPProxy, reader *reader, random *rand.Rand, compact bool) (claims int, err error) {
	for deadline := time.Now().Add(2 * time.Second); !compact && reader.inFlight() == 0 && time.Now().Before(deadline); {
		if err := controlplane.Pause(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
	if compact {
		proxy.Block(true)
		for i := range 50 {
			node := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("compacted-", i), Namespace: "default"}, Spec: v1.PodSpec{
				SchedulerName: "none", Containers: []v1.Container{{Name: "c", Image: "c"}}}}
			if _, err := c.Client.CoreV1().Pods("default").Create(ctx, node, metav1.CreateOptions{}); err != nil {
				return 0, err
			}
		}
	}
	claims = reader.inFlight()
	c.APIServer.Kill()
	if compact {
		now, err := etcd.Get(ctx, "revision")
		if err != nil {
			return claims, err
		}
		if _, err := etcd.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
			return claims, err
		}
	}
	if err := controlplane.Pause(ctx, time.Duration(random.IntN(2000))*time.Millisecond); err != nil {
		return claims, err
	}
	if err := c.StartAPIServer(); err != nil {
		return claims, err
	}
	if err := c.WaitUntilReady(ctx, c.APIServer); err != nil {
		return claims, err
	}
	proxy.Block(false)
	return claims, nil
}

// createWithRetries creates pods with retries while the API server is unstable.
func createWithRetries(ctx context.Context, client kubernetes.Interface, pods []*v1.Pod) error {
	return controlplane.Each(ctx, len(pods), func(i int) error {
		for {
			_, err := client.CoreV1().Pods(pods[i].Namespace).Create(ctx, pods[i], metav1.CreateOptions{})
			if err == nil || apierrors.IsAlreadyExists(err) {
				return nil
			}
			if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || ctx.Err() != nil {
				return err
			}
			if err := controlplane.Pause(ctx, 200*time.Millisecond); err != nil {
				return err
			}
		}
	})
}

func waitForShare(ctx context.Context, r *reader, w *workload, scheduler *controlplane.Child, share float64, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for float64(r.countBound(w.fitting)) < share*float64(len(w.fitting)) {
		if !scheduler.Running() {
			return scheduler.Gone()
		}
		if err := r.failure(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d pods are bound after %s", r.countBound(w.fitting), len(w.fitting), timeout)
		}
		if err := controlplane.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// metricSum adds the samples of berth's metrics whose name and labels match.
func metricSum(port int, pattern string) (float64, error) {
	response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/metrics", port))
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		return 0, errors.New(response.Status)
	}
	sum := 0.0
	wanted := regexp.MustCompile("^" + pattern)
	for line := range strings.Lines(string(text)) {
		if !wanted.MatchString(line) {
			continue
		}
		fields := strings.Fields(line)
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %q: %w", line, err)
		}
		sum += value
	}
	return sum, nil
}
