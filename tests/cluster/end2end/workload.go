package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const (
	gateName  = "end2end.example.org/later"
	lateLabel = "end2end.example.org/late"
	gpu       = "example.com/gpu"
)

// workload contains all objects of the run.
type workload struct {
	nodes []*v1.Node
	// fitting pods must be bound, refused ones must not. Each refused pod has a twin for the reference
	// scheduler.
	fitting, refused, twins []*v1.Pod
	// gated and late pods are fitting after their gate is removed or some nodes get a label.
	gated, late []*v1.Pod
	// leaving pods are fitting and deleted after they are bound.
	leaving []*v1.Pod
	devices deviceWorkload
	// gangs are sizes of pod groups by name. All members of a group must be bound, or none.
	gangs map[string]int32
}

func newWorkload(nodes, pods int) *workload {
	w := new(workload)
	for i := range nodes {
		w.nodes = append(w.nodes, newNode(i))
	}
	for i := range pods {
		pod := newPod(fmt.Sprintf("pod-%d", i), i)
		switch {
		case i%10 == 8 && i/10 < nodes/4:
			pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
		case i%10 == 9 && i/10 < nodes/8:
			setRequest(pod, gpu, "1")
		case i%10 == 0 && i/10 < 20:
			pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: gateName}}
			w.gated = append(w.gated, pod)
		case i%10 == 1 && i/10 < 20:
			pod.Spec.NodeSelector = map[string]string{lateLabel: "true"}
			w.late = append(w.late, pod)
		case i%10 == 2 && i/10 < 20:
			w.leaving = append(w.leaving, pod)
		}
		w.fitting = append(w.fitting, pod)
	}
	for _, pod := range neverFitting() {
		twin := pod.DeepCopy()
		twin.Name += "-twin"
		twin.Spec.SchedulerName = controlplane.ReferenceName
		w.refused = append(w.refused, pod)
		w.twins = append(w.twins, twin)
	}
	return w
}

// newPlainWorkload contains no unschedulable pods and none that need changes during the run.
func newPlainWorkload(nodes, pods int) *workload {
	w := &workload{gangs: make(map[string]int32)}
	for i := range nodes {
		w.nodes = append(w.nodes, newNode(i))
	}
	for i := range pods {
		w.fitting = append(w.fitting, newPod(fmt.Sprintf("pod-%d", i), i))
	}
	return w
}

func newNode(i int) *v1.Node {
	node := controlplane.ReadyNode(fmt.Sprintf("n-%d", i), controlplane.Resources("cpu", "8", "memory", "32Gi", "pods", "50", "ephemeral-storage", "100Gi"),
		v1.LabelTopologyZone, string(rune('a'+i%3)), "disk", []string{"ssd", "hdd"}[i%2], "generation", fmt.Sprint(i%4))
	switch {
	case i == 1:
		node.Spec.Unschedulable = true
	case i%5 == 2:
		node.Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "batch", Effect: v1.TaintEffectNoSchedule}}
	case i%7 == 3:
		node.Spec.Taints = []v1.Taint{{Key: "slow", Effect: v1.TaintEffectPreferNoSchedule}}
	}
	if i%5 == 4 {
		node.Status.Allocatable[gpu] = resource.MustParse("1")
	}
	if i%4 == 0 {
		node.Status.Images = []v1.ContainerImage{{Names: []string{"example.org/app:v1"}, SizeBytes: 900 << 20}}
	}
	return node
}

func plainPod(name string, requests v1.ResourceList) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Image: "example.org/app:v1", Resources: v1.ResourceRequirements{Requests: requests},
		}}},
	}
}

func setRequest(pod *v1.Pod, name v1.ResourceName, amount string) {
	// Extended resources must have equal requests and limits.
	r := &pod.Spec.Containers[0].Resources
	r.Requests[name] = resource.MustParse(amount)
	r.Limits = v1.ResourceList{name: resource.MustParse(amount)}
}

// newPod creates the i-th pod in one of ten shapes.
func newPod(name string, i int) *v1.Pod {
	pod := plainPod(name, controlplane.Resources("cpu", "100m", "memory", "128Mi"))
	spec := &pod.Spec
	switch i % 10 {
	case 4:
		always := v1.ContainerRestartPolicyAlways
		spec.InitContainers = []v1.Container{
			{Name: "side", Image: "side", RestartPolicy: &always, Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "50m")}},
			{Name: "init", Image: "init", Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", "300m", "memory", "64Mi")}},
		}
	case 5:
		spec.NodeSelector = map[string]string{"disk": "ssd"}
	case 6:
		spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				term("topology.kubernetes.io/zone", v1.NodeSelectorOpIn, "a", "b"), term("generation", v1.NodeSelectorOpGt, "2"),
			}},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 10, Preference: term("disk", v1.NodeSelectorOpIn, "ssd")}},
		}}
	case 7:
		spec.Tolerations = []v1.Toleration{{Key: "dedicated", Operator: v1.TolerationOpExists}}
	case 9:
		spec.Containers[0].Resources.Requests = controlplane.Resources("cpu", "1500m", "memory", "4Gi")
	}
	return pod
}

func term(key string, operator v1.NodeSelectorOperator, values ...string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func onlyNode(name string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}}
}

// neverFitting pods are rejected for reasons that are independent of other pods, so that two schedulers can
// be compared at different times.
func neverFitting() []*v1.Pod {
	var pods []*v1.Pod
	add := func(name string, change func(*v1.Pod)) {
		pod := plainPod("never-"+name, controlplane.Resources("cpu", "1m"))
		change(pod)
		pods = append(pods, pod)
	}
	require := func(pod *v1.Pod, terms ...v1.NodeSelectorTerm) {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
	add("cpu", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = controlplane.Resources("cpu", "1000") })
	add("selector", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"planet": "mars"} })
	add("tainted", func(p *v1.Pod) {
		// Every fifth node is dedicated with the same taint, so only names identify them.
		require(p, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{onlyNode("n-2")}})
	})
	add("conflict", func(p *v1.Pod) {
		require(p, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{onlyNode("n-3"), onlyNode("n-4")}})
	})
	add("absent-node", func(p *v1.Pod) {
		require(p, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{onlyNode("nowhere")}})
	})
	add("generation", func(p *v1.Pod) { require(p, term("generation", v1.NodeSelectorOpGt, "7")) })
	add("gpu", func(p *v1.Pod) {
		setRequest(p, gpu, "9")
		p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
	})
	add("several", func(p *v1.Pod) {
		setRequest(p, "example.com/unheard-of", "1")
		p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("90")
		p.Spec.Containers[0].Resources.Requests["memory"] = resource.MustParse("900Gi")
		p.Spec.Containers[0].Resources.Requests["ephemeral-storage"] = resource.MustParse("900Gi")
	})
	add("unschedulable", func(p *v1.Pod) {
		require(p, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{onlyNode("n-1")}})
	})
	return pods
}

func (w *workload) prepare(ctx context.Context, client kubernetes.Interface) error {
	return controlplane.Each(ctx, len(w.nodes), func(i int) error {
		_, err := client.CoreV1().Nodes().Create(ctx, w.nodes[i], metav1.CreateOptions{})
		return err
	})
}

// halves are the pods to create before and after the scheduler starts.
func (w *workload) halves() (before, after []*v1.Pod) {
	half := len(w.fitting) / 2
	before = append(before, w.fitting[:half]...)
	before = append(before, w.refused...)
	before = append(before, w.twins...)
	return before, w.fitting[half:]
}

func createPods(ctx context.Context, client kubernetes.Interface, pods []*v1.Pod) error {
	return controlplane.Each(ctx, len(pods), func(i int) error {
		_, err := client.CoreV1().Pods(pods[i].Namespace).Create(ctx, pods[i], metav1.CreateOptions{})
		return err
	})
}

// disturb changes the cluster during the run: removes gates, adds a node label that pods wait for, deletes
// bound pods.
func (w *workload) disturb(ctx context.Context, client kubernetes.Interface, reader *reader) error {
	deadline := time.Now().Add(time.Minute)
	for reader.countBound(w.fitting) < len(w.fitting)/4 && time.Now().Before(deadline) {
		if err := controlplane.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	err := controlplane.Each(ctx, len(w.gated), func(i int) error {
		patch := []byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`)
		_, err := client.CoreV1().Pods(w.gated[i].Namespace).Patch(ctx, w.gated[i].Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		return err
	})
	if err != nil {
		return err
	}
	for _, i := range []int{5, 10, 15} {
		patch := fmt.Sprintf(`[{"op":"add","path":"/metadata/labels/%s","value":"true"}]`, strings.ReplaceAll(lateLabel, "/", "~1"))
		if _, err := client.CoreV1().Nodes().Patch(ctx, w.nodes[i].Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return controlplane.Each(ctx, len(w.leaving), func(i int) error {
		if !reader.bound(w.leaving[i]) {
			return nil
		}
		now := int64(0)
		return client.CoreV1().Pods(w.leaving[i].Namespace).Delete(ctx, w.leaving[i].Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	})
}
