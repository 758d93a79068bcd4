package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"berth.test/cluster/controlplane"
	"berth.test/cluster/kubelet"
)

// controlPlane is the control-plane node; it accepts no other pods.
const controlPlane = "master1"

// hold turns a directory into the control-plane node of a kubeadm cluster with kube-scheduler as its static
// pod, and keeps the cluster until standard input is closed. tests/quickstart runs its commands there.
func hold(ctx context.Context, o *options, directory string) error {
	children := &controlplane.Children{Directory: directory}
	defer children.StopAll()
	// There may be only a loopback network, and the API server needs another address to advertise.
	s, err := setUp(ctx, o, directory, children, "--advertise-address=192.0.2.1")
	if err != nil {
		return err
	}
	s.kubelet.Host = o.node
	h, err := s.kubeadmHost(false)
	if err != nil {
		return err
	}
	if err := os.Rename(s.control.File("admin.kubeconfig"), h.path("admin.conf")); err != nil {
		return err
	}
	if err := s.makeNode(ctx, controlPlane); err != nil {
		return err
	}
	if err := s.taint(ctx, controlPlane); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println("ready: " + s.control.URL)
	k := &keeper{host: h}
	defer k.stop()
	for controlplane.Pause(ctx, 100*time.Millisecond) == nil {
		if err := k.sync(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// taint adds kubeadm's taint.
func (s *stage) taint(ctx context.Context, name string) error {
	nodes := s.control.Client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	node.Spec.Taints = []v1.Taint{{Key: "node-role.kubernetes.io/control-plane", Effect: v1.TaintEffectNoSchedule}}
	_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
	return err
}

// keeper simulates the kubelets of such a cluster.
type keeper struct {
	*host
	scheduler *kubelet.Container
	started   string // the manifest of the running pod
}

func (k *keeper) sync(ctx context.Context) error {
	if err := k.staticPod(ctx); err != nil {
		return err
	}
	return k.pods(ctx)
}

// staticPod runs the manifest in the manifests directory, if any.
func (k *keeper) staticPod(ctx context.Context) error {
	text, err := os.ReadFile(k.manifest())
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if k.scheduler != nil && (string(text) != k.started || !k.scheduler.Child.Running()) {
		k.stop()
	}
	if k.scheduler != nil || len(text) == 0 {
		return nil
	}
	var pod v1.Pod
	if err := yaml.UnmarshalStrict(text, &pod); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(k.manifest()), err)
	}
	k.started = string(text)
	k.scheduler, err = k.kubelet.Run(ctx, &pod, kubelet.Loopback)
	return err
}

func (k *keeper) stop() {
	if k.scheduler != nil {
		k.scheduler.Child.Stop()
		k.scheduler = nil
	}
}

// pods reports every bound pod as running, and removes deleted ones; it starts no containers.
func (k *keeper) pods(ctx context.Context) error {
	pods := k.control.Client.CoreV1().Pods("default")
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	now := metav1.Now()
	for _, pod := range list.Items {
		// A pod that changed meanwhile is processed again.
		switch {
		case pod.Spec.NodeName == "":
		case pod.DeletionTimestamp != nil:
			at := int64(0)
			_ = pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &at})
		case pod.Status.Phase == v1.PodPending:
			pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &now
			for _, kind := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.ContainersReady, v1.PodReady} {
				pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: now})
			}
			for _, c := range pod.Spec.Containers {
				pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, v1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true,
					State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: now}}})
			}
			_, _ = pods.UpdateStatus(ctx, &pod, metav1.UpdateOptions{})
		}
	}
	return nil
}
