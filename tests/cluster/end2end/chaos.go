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
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

// runChaos runs two schedulers with leader election. It kills the API server twice, cuts connections at random, and
// compacts the history from which the schedulers would resume; the first time when a claim is allocated and its pod is not
// bound yet. It kills the leader twice: when a part of a gang is bound, and when a claim is allocated and its pod is not
// bound. Meanwhile slices of devices are replaced, and bound pods with devices are deleted. At the end every pod must be
// bound once to a feasible node, the members of gangs included. At no time may a device be allocated twice, or a member of a
// gang that does not fit be bound; at the end no claim may have a device without a bound pod. Only the leader may write, and
// no pod may get bindings from two schedulers.
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
	controllers, err := control.StartControllers(claimController)
	if err != nil {
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
	// With an even seed a leader loses the Lease when the API server is killed, with an odd one only leaders that keep it meet
	// that.
	crashFirst := seed%2 == 0
	schedulers := &replicas{options: o, control: control, children: children, writes: newWrites(), brief: 2}
	if crashFirst {
		schedulers.brief = 3
	}
	if err := schedulers.startBoth(ctx); err != nil {
		return err
	}
	alive := func() error { return schedulers.replaceLost(ctx) }
	started := time.Now()
	printf("%d nodes, schedulers started", len(work.nodes))

	creating, stopCreating := context.WithCancel(ctx)
	defer stopCreating()
	created, parts := make(chan error, 1), make(chan []*v1.Pod, 1)
	go func() {
		created <- createInParts(creating, control.Client, parts)
	}()
	cutting, stopCutting := context.WithCancel(ctx)
	defer stopCutting()
	go func() {
		// A separate generator: the other one belongs to the goroutine that kills.
		random := rand.New(rand.NewPCG(seed, 1))
		for controlplane.Pause(cutting, time.Duration(50+random.IntN(350))*time.Millisecond) == nil {
			schedulers.cut(random)
		}
	}()

	leaving := make(chan error, 1)
	go func() { leaving <- work.devices.deleteLeaving(ctx, control.Client, reader) }()
	var replaced atomic.Int64
	stopReplacing, replacing := make(chan struct{}), make(chan error, 1)
	go func() {
		replacing <- work.devices.replaceSlices(ctx, control.Client, rand.New(rand.NewPCG(seed, 2)), stopReplacing, &replaced)
	}()

	c := &chaos{options: o, control: control, controllers: controllers, etcd: etcd, reader: reader, schedulers: schedulers, random: random,
		create: func(part []*v1.Pod) error {
			select {
			case parts <- part:
				return nil
			case err := <-created:
				return err
			}
		}}
	steps := []func(context.Context, []*v1.Pod) (string, error){c.killInGang, c.killWithClaim, c.restart, c.restartCompacted}
	if crashFirst {
		steps[0], steps[1], steps[2] = steps[2], steps[0], steps[1]
	}
	parts <- work.refused
	for i, step := range steps {
		// Each step has a part of the pods, so that none begins when all pods are bound.
		what, err := step(ctx, work.fitting[len(work.fitting)*i/len(steps):len(work.fitting)*(i+1)/len(steps)])
		if err != nil {
			return err
		}
		printf("%s; %d pods bound", what, reader.countBound(work.fitting))
	}
	close(parts)
	if err := <-created; err != nil {
		return err
	}
	if _, err := waitUntilBound(ctx, reader, work, alive, o.timeout); err != nil {
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
	printf("all %d pods bound after %.1f s, %d connections cut, %.1f CPU seconds", len(work.fitting), time.Since(started).Seconds(),
		int(schedulers.sum(func(r *replica) float64 { return float64(r.cutting.Cuts()) })), schedulers.sum(func(r *replica) float64 { return r.child.CPUSeconds() }))

	violations := reader.waitUntilReleased(ctx)
	reader.mutex.Lock()
	violations = append(violations, reader.broken...)
	violations = append(violations, schedulers.writes.check(reader.holders)...)
	reader.mutex.Unlock()
	printf("%d leaders killed, %d lost the Lease", schedulers.killed, schedulers.lost)
	printf("%d gangs of %d pods", len(work.gangs)-1, gangSize)
	printf("%d pods had a device of %d slices, which were replaced %d times", len(work.fitting)/5, len(work.devices.slices), replaced.Load())
	if o.isBerth() {
		expired, err := schedulers.expired()
		if err != nil {
			return err
		}
		if expired == 0 {
			violations = append(violations, "no watch was listed again after the compaction")
		}
		printf("%.0f watches ended because their version is gone", expired)
	}
	violations = append(violations, schedulers.stop()...)
	return verdict(append(violations, reader.history().check(work)...), out, printf)
}

// createInParts creates pods with retries, one part after the other, until the channel is closed.
func createInParts(ctx context.Context, client kubernetes.Interface, parts <-chan []*v1.Pod) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case pods, more := <-parts:
			if !more {
				return nil
			}
			if err := createWithRetries(ctx, client, pods); err != nil {
				return err
			}
		}
	}
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
