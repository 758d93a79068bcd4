package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"berth.test/cluster/controlplane"
)

// The scenarios run in this order, each on the node that the previous one has left.
var scenarios = []struct {
	name string
	play func(s *stage, ctx context.Context) error
}{
	{"kube-scheduler", (*stage).reference},
	{"replace", (*stage).replace},
	{"pods start", (*stage).podsStart},
	{"kill", (*stage).kill},
	{"hang", (*stage).hang},
	{"restricted", (*stage).restricted},
	{"upgrade", (*stage).upgrade},
	{"beside", (*stage).beside},
	{"memory limit", (*stage).memoryLimit},
	{"back", (*stage).back},
}

const script = "deploy/static-pod/replace"

// replaceBy runs the script, and waits for the kubelet to run the image.
func (s *stage) replaceBy(ctx context.Context, image string, args ...string) (container, error) {
	before, err := s.scheduler(ctx)
	if err != nil {
		return before, err
	}
	pid, _, err := s.process(before.id)
	if err != nil {
		return before, err
	}
	began := time.Now()
	if _, err := s.command(ctx, append([]string{script}, args...)...); err != nil {
		return before, err
	}
	if err := controlplane.Until(ctx, stepTimeout, before.image+" to end", func() (bool, error) {
		return !fileExists(fmt.Sprintf("/proc/%d", pid)), nil
	}); err != nil {
		return before, err
	}
	fmt.Printf("  %s: ended %.1f s after the change of the manifest\n", before.image, time.Since(began).Seconds())
	after, err := s.awaitReady(ctx, image, before)
	if err == nil {
		err = s.describe(ctx, after, began)
	}
	return after, err
}

// describe prints how long a container has needed until it was ready, which is now.
func (s *stage) describe(ctx context.Context, c container, manifestWritten time.Time) error {
	ready := time.Now()
	pid, _, err := s.process(c.id)
	if err != nil {
		return err
	}
	started, err := startOf(pid)
	if err != nil {
		return err
	}
	var led time.Time
	if err := controlplane.Until(ctx, stepTimeout, "the lease", func() (bool, error) {
		lease, err := s.control.Client.CoordinationV1().Leases(system).Get(ctx, "kube-scheduler", metav1.GetOptions{})
		if err != nil {
			return false, nil
		}
		led = lease.Spec.AcquireTime.Time
		return led.After(started) && strings.HasPrefix(ptr.Deref(lease.Spec.HolderIdentity, ""), nodeName+"_"), nil
	}); err != nil {
		return fmt.Errorf("%w\n%s", err, s.log())
	}
	used, err := s.memory(c)
	fmt.Printf("  %s: started %.1f s after it, leader %.1f s and ready %.1f s after its start; %s\n", c.image,
		started.Sub(manifestWritten).Seconds(), led.Sub(started).Seconds(), ready.Sub(started).Seconds(), used)
	return err
}

// reference runs kubeadm's own pod.
func (s *stage) reference(ctx context.Context) error {
	c, err := s.awaitReady(ctx, schedulerImage, container{})
	if err != nil {
		return err
	}
	if err := s.describe(ctx, c, s.kubeletStarted); err != nil {
		return err
	}
	return s.runPods(ctx, "reference", 2)
}

// replace runs the commands of docs/guide/replace.md with their default paths, and checks Berth's process.
func (s *stage) replace(ctx context.Context) error {
	if err := checkOwner(schedulerConf, 0, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"--check"}, {"--dry-run"}} {
		if _, err := s.command(ctx, append([]string{script}, args...)...); err != nil {
			return err
		}
	}
	c, err := s.replaceBy(ctx, berthImage)
	if err != nil {
		return err
	}
	if err := s.checkProcess(c, map[string]string{"Uid:": "0", "Seccomp:": "2"}); err != nil {
		return err
	}
	if err := checkOwner(manifest, 0, 0o600); err != nil {
		return err
	}
	// The API server reads the log from the kubelet, the kubelet from the file that containerd writes.
	log, err := s.command(ctx, "kubectl", "-n", system, "logs", schedulerPod)
	if err == nil && !strings.Contains(log, "All writes of the previous leader have been received") {
		s.AddError("kubectl logs does not show that Berth leads:\n%s", log)
	}
	return err
}

func checkOwner(path string, uid uint32, mode os.FileMode) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != uid || info.Mode() != mode {
		return fmt.Errorf("%s has owner %d and mode %o; expected %d and %o", path, owner, info.Mode(), uid, mode)
	}
	return nil
}

// checkProcess checks that the container runs Berth, and lines of the process's status.
func (s *stage) checkProcess(c container, expected map[string]string) error {
	pid, _, err := s.process(c.id)
	if err != nil {
		return err
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return err
	}
	if program != "/usr/bin/berth" {
		s.AddError("the container runs %s, not /usr/bin/berth", program)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			if value, checked := expected[fields[0]]; checked && fields[1] != value {
				s.AddError("Berth's process has %s; expected %s", strings.TrimSpace(line), value)
			}
		}
	}
	return err
}

// podsStart lets Berth place pods, whose containers really start.
func (s *stage) podsStart(ctx context.Context) error { return s.runPods(ctx, "started", 20) }

func pod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{TerminationGracePeriodSeconds: ptr.To[int64](1),
		Containers: []v1.Container{{Name: "c", Image: pauseImage, ImagePullPolicy: v1.PullNever, Args: []string{"this is", name},
			Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "1m", "memory", "1Mi")}}}}}
}

// runPods is runPodsWith the default scheduler.
func (s *stage) runPods(ctx context.Context, prefix string, count int) error {
	return s.runPodsWith(ctx, "default-scheduler", prefix, count)
}

// runPodsWith creates pods, waits until the kubelet runs them, reads the log of one, and removes them.
func (s *stage) runPodsWith(ctx context.Context, scheduler, prefix string, count int) error {
	began := time.Now()
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%d", prefix, i))
		one := pod(names[i])
		one.Spec.SchedulerName = scheduler
		if _, err := s.control.Client.CoreV1().Pods("default").Create(ctx, one, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := s.awaitPods(ctx, names); err != nil {
		return err
	}
	fmt.Printf("  %d pods created and running after %.1f s\n", count, time.Since(began).Seconds())
	log, err := s.command(ctx, "kubectl", "logs", names[0])
	if err != nil {
		return err
	}
	if log != "this is "+names[0]+"\n" {
		s.AddError("the log of %s is %q", names[0], log)
	}
	if _, err := s.control.EventOf(ctx, stepTimeout, names[0], "Scheduled", scheduler); err != nil {
		return err
	}
	return s.removePods(ctx, names)
}

// awaitPods waits until pods of the namespace default run on the node, each with an address of its own in the pods' network.
func (s *stage) awaitPods(ctx context.Context, names []string) error {
	addresses := make(map[string]string)
	for _, name := range names {
		var last *v1.Pod
		err := controlplane.Until(ctx, stepTimeout, name+" to run", func() (_ bool, err error) {
			last, err = s.control.Client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
			return err == nil && last.Status.Phase == v1.PodRunning && last.Status.PodIP != "", err
		})
		if err != nil {
			return fmt.Errorf("%w: node %q, %s\n%s", err, last.Spec.NodeName, encode(last.Status), s.log())
		}
		if other, taken := addresses[last.Status.PodIP]; taken || !strings.HasPrefix(last.Status.PodIP, "10.85.0.") {
			s.AddError("%s has the address %s (also of %q)", name, last.Status.PodIP, other)
		}
		addresses[last.Status.PodIP] = name
	}
	return nil
}

func (s *stage) removePods(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := s.control.Client.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return controlplane.Until(ctx, stepTimeout, "the pods to be removed", func() (bool, error) {
		list, err := s.control.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0, err
	})
}

// kill kills Berth like a crash. The kubelet restarts it; a pod that was created meanwhile starts.
func (s *stage) kill(ctx context.Context) error {
	before, err := s.scheduler(ctx)
	if err != nil {
		return err
	}
	if err := s.signal(before, syscall.SIGKILL); err != nil {
		return err
	}
	killed := time.Now()
	if _, err := s.control.Client.CoreV1().Pods("default").Create(ctx, pod("meanwhile"), metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := s.restarted(ctx, before, killed); err != nil {
		return err
	}
	if err := s.awaitPods(ctx, []string{"meanwhile"}); err != nil {
		return err
	}
	// The lease was not released: it has to expire first.
	fmt.Printf("  the pod created meanwhile ran %.1f s after the kill\n", time.Since(killed).Seconds())
	return s.removePods(ctx, []string{"meanwhile"})
}

// restarted waits until the kubelet has restarted Berth in the same pod.
func (s *stage) restarted(ctx context.Context, before container, since time.Time) error {
	after, err := s.awaitScheduler(ctx, "a restart", func(c container) bool { return c.ready && c.restarts > before.restarts })
	if err != nil {
		return err
	}
	if after.restarts != before.restarts+1 || after.image != before.image {
		s.AddError("after the restart: %+v, before: %+v", after, before)
	}
	fmt.Printf("  the kubelet restarted it, ready after %.1f s\n", time.Since(since).Seconds())
	return nil
}

// hang stops Berth's process without ending it. The liveness probe fails, and the kubelet restarts the container. kubeadm's
// probe would wait for 80 s, then the kubelet 30 s for the process to end.
func (s *stage) hang(ctx context.Context) error {
	before, err := s.scheduler(ctx)
	if err != nil {
		return err
	}
	if err := s.edit(func(pod *v1.Pod) {
		probe := pod.Spec.Containers[0].LivenessProbe
		probe.FailureThreshold, probe.PeriodSeconds, probe.TimeoutSeconds = 3, 1, 1
		probe.TerminationGracePeriodSeconds = ptr.To[int64](1)
	}); err != nil {
		return err
	}
	healthy, err := s.awaitReady(ctx, berthImage, before)
	if err != nil {
		return err
	}
	if err := s.signal(healthy, syscall.SIGSTOP); err != nil {
		return err
	}
	if err := s.restarted(ctx, healthy, time.Now()); err != nil {
		return err
	}
	return s.runPods(ctx, "after-hang", 1)
}

// restricted runs Berth without root, without capabilities and with a read-only root file system: first while only root can
// read scheduler.conf, as kubeadm leaves it, then with that file given to the user, as the guide says.
func (s *stage) restricted(ctx context.Context) error {
	const user = 65532
	before, err := s.scheduler(ctx)
	if err != nil {
		return err
	}
	if err := s.edit(func(pod *v1.Pod) {
		pod.Spec.SecurityContext.RunAsUser = ptr.To[int64](user)
		pod.Spec.SecurityContext.RunAsNonRoot = ptr.To(true)
		pod.Spec.Containers[0].SecurityContext = &v1.SecurityContext{
			ReadOnlyRootFilesystem: ptr.To(true), AllowPrivilegeEscalation: ptr.To(false),
			Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}}}
	}); err != nil {
		return err
	}
	refused, err := s.awaitScheduler(ctx, "a container that cannot read its kubeconfig", func(c container) bool {
		return c.id != before.id && c.restarts > 0 && c.waiting == "CrashLoopBackOff"
	})
	if err != nil {
		return err
	}
	log, err := s.command(ctx, "kubectl", "-n", system, "logs", schedulerPod)
	if err != nil {
		return err
	}
	if !strings.Contains(log, "permission denied") || !strings.Contains(log, schedulerConf) {
		s.AddError("without permission to read %s it logs:\n%s", schedulerConf, log)
	}
	if err := os.Chown(schedulerConf, user, user); err != nil {
		return err
	}
	c, err := s.awaitReady(ctx, berthImage, refused)
	if err != nil {
		return err
	}
	if err := s.checkProcess(c, map[string]string{"Uid:": fmt.Sprint(user), "CapEff:": strings.Repeat("0", 16), "NoNewPrivs:": "1", "Seccomp:": "2"}); err != nil {
		return err
	}
	if err := s.checkReadOnly(c); err != nil {
		return err
	}
	return s.runPods(ctx, "restricted", 2)
}

// checkReadOnly checks the root file system of a container.
func (s *stage) checkReadOnly(c container) error {
	pid, _, err := s.process(c.id)
	if err != nil {
		return err
	}
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mounts", pid))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); fields[1] == "/" && !strings.HasPrefix(fields[3], "ro,") {
			s.AddError("the root file system is writable: %s", line)
		}
	}
	return nil
}

// upgrade changes the image while pods arrive: each must start.
func (s *stage) upgrade(ctx context.Context) error {
	before, err := s.scheduler(ctx)
	if err != nil {
		return err
	}
	arriving, stop := context.WithCancel(ctx)
	defer stop()
	var names []string
	var failed error
	var group sync.WaitGroup
	group.Go(func() {
		for arriving.Err() == nil {
			name := fmt.Sprintf("arriving-%d", len(names))
			if _, failed = s.control.Client.CoreV1().Pods("default").Create(ctx, pod(name), metav1.CreateOptions{}); failed != nil {
				return
			}
			names = append(names, name)
			_ = controlplane.Pause(arriving, 500*time.Millisecond)
		}
	})
	after, err := s.replaceBy(ctx, nextBerthImage, "--image="+nextBerthImage)
	stop()
	group.Wait()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if after.imageID == before.imageID {
		s.AddError("the container still runs the image %s", after.imageID)
	}
	if err := s.awaitPods(ctx, names); err != nil {
		return err
	}
	fmt.Printf("  %d pods arrived during the upgrade, and all run\n", len(names))
	return s.removePods(ctx, names)
}

// beside runs the Deployment of deploy/second-scheduler, whose pods the static pod places: a token, a ConfigMap and an address of
// their own, probes over the pods' network. One replica is killed.
func (s *stage) beside(ctx context.Context) error {
	began := time.Now()
	for _, line := range []string{"apply -k deploy/second-scheduler", "-n kube-system rollout status deployment/berth --timeout=60s"} {
		if _, err := s.command(ctx, append([]string{"kubectl"}, strings.Fields(line)...)...); err != nil {
			state, _ := s.command(ctx, "kubectl", "-n", system, "describe", "pods", "-l", besideLabel)
			return fmt.Errorf("%w\n%s", err, state)
		}
	}
	fmt.Printf("  deploy/second-scheduler rolled out after %.1f s\n", time.Since(began).Seconds())
	if err := s.runPodsWith(ctx, "berth", "beside", 2); err != nil {
		return err
	}
	list, err := s.control.Client.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: besideLabel})
	if err != nil {
		return err
	}
	for _, replica := range list.Items {
		c := containerOf(&replica)
		if err := s.checkProcess(c, map[string]string{"Uid:": "65532", "CapEff:": strings.Repeat("0", 16), "NoNewPrivs:": "1", "Seccomp:": "2"}); err != nil {
			return err
		}
		if err := s.checkReadOnly(c); err != nil {
			return err
		}
	}
	if err := s.signal(containerOf(&list.Items[0]), syscall.SIGKILL); err != nil {
		return err
	}
	killed := time.Now()
	if err := controlplane.Until(ctx, stepTimeout, "the killed replica to be ready", func() (bool, error) {
		one, err := s.control.Client.CoreV1().Pods(system).Get(ctx, list.Items[0].Name, metav1.GetOptions{})
		return err == nil && containerOf(one).ready && containerOf(one).restarts == 1, err
	}); err != nil {
		return err
	}
	fmt.Printf("  of %d replicas one was killed and is ready again after %.1f s\n", len(list.Items), time.Since(killed).Seconds())
	if _, err := s.command(ctx, "kubectl", "delete", "-k", "deploy/second-scheduler"); err != nil {
		return err
	}
	return controlplane.Until(ctx, stepTimeout, "the replicas to end", func() (bool, error) {
		left, err := s.control.Client.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: besideLabel})
		return err == nil && len(left.Items) == 0, err
	})
}

// besideLabel selects the replicas of deploy/second-scheduler.
const besideLabel = "app.kubernetes.io/name=berth"

// memoryLimit runs Berth with a limit of memory in a cluster with many nodes and pods: most are placed, others stay pending.
func (s *stage) memoryLimit(ctx context.Context) error {
	const limit = 128 << 20
	before, err := s.scheduler(ctx)
	if err != nil {
		return err
	}
	if err := s.edit(func(pod *v1.Pod) {
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(limit, resource.BinarySI)}
	}); err != nil {
		return err
	}
	c, err := s.awaitReady(ctx, nextBerthImage, before)
	if err != nil {
		return err
	}
	if err := s.createLoad(ctx); err != nil {
		return err
	}
	m, err := s.memory(c)
	if err != nil {
		return err
	}
	fmt.Printf("  limit %.0f MiB: %s\n", mebibytes(m.limit), m)
	if m.limit != limit || m.kills != 0 {
		s.AddError("the limit is %d bytes (expected %d), the kernel has killed %d processes", m.limit, limit, m.kills)
	}
	now, err := s.scheduler(ctx)
	if err == nil && (now.id != c.id || !now.ready || now.restarts != c.restarts) {
		s.AddError("under load the container was restarted or is not ready: %+v, before: %+v", now, c)
	}
	return err
}

// loaded is the label of the nodes without a kubelet, and of the pods for them.
const loaded = "berth.test/load"

// createLoad creates nodes, two pods for them per pending pod, and pods that fit nowhere. It returns when all are decided.
func (s *stage) createLoad(ctx context.Context) error {
	began := time.Now()
	client := s.control.Client.CoreV1()
	room := controlplane.Resources("cpu", "16", "memory", "64Gi", "pods", "110")
	err := controlplane.Each(ctx, s.nodes, func(i int) error {
		_, err := client.Nodes().Create(ctx, controlplane.ReadyNode(fmt.Sprintf("load-%d", i), room, loaded, ""), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	placed := 2 * s.pods
	if err := controlplane.Each(ctx, placed+s.pods, func(i int) error {
		one := pod(fmt.Sprintf("load-%d", i))
		one.Labels = map[string]string{loaded: ""}
		one.Spec.NodeSelector = map[string]string{loaded: ""}
		if i >= placed {
			one.Spec.Containers[0].Resources.Requests = controlplane.Resources("cpu", "17")
		}
		_, err := client.Pods("default").Create(ctx, one, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	bound, rejected := 0, 0
	err = controlplane.Until(ctx, 2*stepTimeout, "all pods to be decided", func() (bool, error) {
		list, err := client.Pods("default").List(ctx, metav1.ListOptions{LabelSelector: loaded})
		if err != nil {
			return false, err
		}
		bound, rejected = 0, 0
		for _, one := range list.Items {
			if one.Spec.NodeName != "" {
				bound++
			}
			for _, condition := range one.Status.Conditions {
				if condition.Type == v1.PodScheduled && condition.Reason == v1.PodReasonUnschedulable {
					rejected++
				}
			}
		}
		return bound == placed && rejected == s.pods, controlplane.Pause(ctx, 500*time.Millisecond)
	})
	if err != nil {
		return fmt.Errorf("%w: %d of %d bound, %d of %d rejected\n%s", err, bound, placed, rejected, s.pods, s.log())
	}
	fmt.Printf("  %d nodes, %d pods placed, %d pending; %.1f s\n", s.nodes, bound, rejected, time.Since(began).Seconds())
	return nil
}

// back restores kube-scheduler, with the same load.
func (s *stage) back(ctx context.Context) error {
	if err := os.Chown(schedulerConf, 0, 0); err != nil {
		return err
	}
	c, err := s.replaceBy(ctx, schedulerImage, "--back")
	if err != nil {
		return err
	}
	if _, err := os.Stat("/etc/kubernetes/berth/berth.yaml"); err != nil {
		s.AddError("the script has not kept Berth's changed manifest: %v", err)
	}
	one := pod("after-back")
	one.Spec.NodeSelector = map[string]string{v1.LabelHostname: nodeName}
	if _, err := s.control.Client.CoreV1().Pods("default").Create(ctx, one, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := s.awaitPods(ctx, []string{one.Name}); err != nil {
		return err
	}
	m, err := s.memory(c)
	fmt.Printf("  %s with the same nodes and pods: %s\n", c.image, m)
	return err
}
