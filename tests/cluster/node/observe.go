package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"berth.test/cluster/controlplane"
)

// container is the container of a scheduler's pod, as the kubelet reports it.
type container struct {
	image, imageID, id string
	restarts           int32
	ready              bool
	waiting            string // why it does not run
}

// scheduler is the current state of the static pod, from its mirror pod; an empty one without a mirror pod.
func (s *stage) scheduler(ctx context.Context) (container, error) {
	pod, err := s.control.Client.CoreV1().Pods(system).Get(ctx, schedulerPod, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return container{}, nil
	}
	if err != nil {
		return container{}, err
	}
	return containerOf(pod), nil
}

// containerOf is the only container of a pod; an empty one before the kubelet has reported any.
func containerOf(pod *v1.Pod) container {
	if len(pod.Status.ContainerStatuses) == 0 {
		return container{}
	}
	status := pod.Status.ContainerStatuses[0]
	_, id, _ := strings.Cut(status.ContainerID, "://")
	c := container{image: pod.Spec.Containers[0].Image, imageID: status.ImageID, id: id, restarts: status.RestartCount, ready: status.Ready}
	if status.State.Waiting != nil {
		c.waiting = status.State.Waiting.Reason
	}
	for _, condition := range pod.Status.Conditions {
		// The pod's own condition is the one that a user sees.
		if condition.Type == v1.PodReady && condition.Status != v1.ConditionTrue {
			c.ready = false
		}
	}
	return c
}

// awaitScheduler waits until the container is as expected. The error contains the last state and its log.
func (s *stage) awaitScheduler(ctx context.Context, what string, expected func(c container) bool) (container, error) {
	var last container
	err := controlplane.Until(ctx, stepTimeout, what, func() (_ bool, err error) {
		last, err = s.scheduler(ctx)
		if strings.HasPrefix(last.waiting, "ErrImage") {
			return false, fmt.Errorf("%s: the kubelet does not find the image", last.waiting)
		}
		return err == nil && expected(last), err
	})
	if err != nil {
		err = fmt.Errorf("%w\nlast state: %+v\n%s", err, last, s.log())
	}
	return last, err
}

// awaitReady waits until a container of the image is ready that is not this one.
func (s *stage) awaitReady(ctx context.Context, image string, but container) (container, error) {
	return s.awaitScheduler(ctx, image+" to be ready", func(c container) bool { return c.ready && c.image == image && c.id != but.id })
}

// log is the end of the log of the scheduler's latest container.
func (s *stage) log() string {
	files, _ := filepath.Glob("/var/log/pods/" + system + "_" + schedulerPod + "_*/kube-scheduler/*.log")
	var latest string
	var changed time.Time
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(changed) {
			latest, changed = file, info.ModTime()
		}
	}
	text, _ := os.ReadFile(latest)
	if lines := bytes.SplitAfter(text, []byte("\n")); len(lines) > 40 {
		text = bytes.Join(lines[len(lines)-40:], nil)
	}
	return string(text)
}

// edit changes the static pod like an administrator with an editor: the kubelet sees one new file. The script's first line stays.
func (s *stage) edit(change func(pod *v1.Pod)) error {
	text, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	var pod v1.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		return err
	}
	change(&pod)
	changed, err := yaml.Marshal(&pod)
	if err != nil {
		return err
	}
	if line, _, found := bytes.Cut(text, []byte("\n")); found && bytes.HasPrefix(line, []byte("#")) {
		changed = append(append(line, '\n'), changed...)
	}
	fresh := filepath.Join(manifests, ".kube-scheduler.yaml")
	if err := os.WriteFile(fresh, changed, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, manifest)
}

// --- processes and cgroups ---

// process is the first process of a container, and its directories of cgroups.
func (s *stage) process(id string) (pid int, groups map[string]string, err error) {
	groups = make(map[string]string)
	for _, root := range roots() {
		found, err := filepath.Glob(root + string(s.group) + "/kubepods/*/*/" + id)
		if err != nil {
			return 0, nil, err
		}
		if len(found) == 1 {
			groups[filepath.Base(root)] = found[0]
			if text, err := os.ReadFile(found[0] + "/cgroup.procs"); err == nil && pid == 0 {
				pid, _ = strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
			}
		}
	}
	if pid == 0 {
		return 0, nil, fmt.Errorf("no process in the cgroup of container %s", id)
	}
	return pid, groups, nil
}

// signal sends a signal to the scheduler.
func (s *stage) signal(c container, signal syscall.Signal) error {
	pid, _, err := s.process(c.id)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}

// memory is the use of a container's cgroup, in bytes.
type memory struct {
	limit, peak, now, resident int64
	kills                      int64 // of the kernel, for want of memory
}

func (m memory) String() string {
	return fmt.Sprintf("cgroup %.1f MiB now, %.1f MiB at most; resident %.1f MiB", mebibytes(m.now), mebibytes(m.peak), mebibytes(m.resident))
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func (s *stage) memory(c container) (m memory, err error) {
	pid, groups, err := s.process(c.id)
	if err != nil {
		return m, err
	}
	var failed []error
	read := func(path, key string) int64 {
		text, err := os.ReadFile(path)
		failed = append(failed, err)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) == 1 && key == "" || len(fields) >= 2 && fields[0] == key {
				value, _ := strconv.ParseInt(fields[min(1, len(fields)-1)], 10, 64)
				return value
			}
		}
		failed = append(failed, fmt.Errorf("%s has no value %q", path, key))
		return 0
	}
	m.resident = read(fmt.Sprintf("/proc/%d/status", pid), "VmRSS:") << 10
	if isUnified() {
		group := groups[filepath.Base(groupRoot)]
		m.limit, m.now = read(group+"/memory.max", ""), read(group+"/memory.current", "")
		m.peak, m.kills = read(group+"/memory.peak", ""), read(group+"/memory.events", "oom_kill")
	} else {
		group := groups["memory"]
		m.limit, m.now = read(group+"/memory.limit_in_bytes", ""), read(group+"/memory.usage_in_bytes", "")
		m.peak, m.kills = read(group+"/memory.max_usage_in_bytes", ""), read(group+"/memory.oom_control", "oom_kill")
	}
	return m, errors.Join(failed...)
}

// startOf is the time at which a process was started.
func startOf(pid int) (time.Time, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return time.Time{}, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return time.Time{}, fmt.Errorf("/proc/%d/stat: %q", pid, stat)
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	var uptime float64
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}, err
	}
	if _, err := fmt.Sscanf(string(text), "%f", &uptime); err != nil {
		return time.Time{}, err
	}
	// Ticks are hundredths of a second on every Linux.
	return time.Now().Add(-time.Duration(uptime*float64(time.Second)) + time.Duration(ticks)*10*time.Millisecond), nil
}
