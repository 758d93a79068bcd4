package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const (
	zoneLabel = "topology.kubernetes.io/zone"
	hostLabel = "kubernetes.io/hostname"
	diskLabel = "shadow.example.org/disk"
	dedicated = "shadow.example.org/dedicated"
	namespace = "default"
	perNode   = 9 // number of pods at which the cluster is nearly full
)

// churn is the workload.
type churn struct {
	client  kubernetes.Interface
	options *options
	chance  *rand.Rand
	made    int
	pods    []string  // in the order of their creation
	changes int       // of nodes
	gone    []int     // nodes
	began   time.Time // of the start of the first pod
	bound   atomic.Int64
	evicted atomic.Int64
}

func newChurn(client kubernetes.Interface, o *options) *churn {
	return &churn{client: client, options: o, chance: rand.New(rand.NewPCG(o.seed, 0)), began: time.Now().Add(-24 * time.Hour)}
}

func (c *churn) done() string {
	return fmt.Sprintf("%d pods created, %d bound, %d changes of nodes, %d pods preempted", c.made, c.bound.Load(), c.changes, c.evicted.Load())
}

func (c *churn) prepare(ctx context.Context) error {
	for name, value := range map[string]int32{"high": 1000, "low": -10} {
		_, err := c.client.SchedulingV1().PriorityClasses().Create(ctx,
			&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	return controlplane.Each(ctx, c.options.nodes, func(i int) error { return c.makeNode(ctx, i) })
}

func (c *churn) makeNode(ctx context.Context, i int) error {
	room := controlplane.Resources("cpu", []string{"4", "8", "8", "16"}[i%4], "memory", []string{"16Gi", "16Gi", "32Gi"}[i%3], "pods", "110")
	node := controlplane.ReadyNode(nodeName(i), room, zoneLabel, string(rune('a'+i%3)), diskLabel, []string{"ssd", "hdd"}[i%2])
	if i%10 == 7 {
		node.Spec.Taints = []v1.Taint{{Key: dedicated, Value: "yes", Effect: v1.TaintEffectNoSchedule}}
	}
	if i%10 == 4 {
		node.Spec.Taints = []v1.Taint{{Key: "old", Effect: v1.TaintEffectPreferNoSchedule}}
	}
	_, err := c.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return err
}

func nodeName(i int) string { return fmt.Sprintf("node-%03d", i) }

// run fills the cluster at once, then creates, changes and deletes pods and nodes, and counts the bound pods.
func (c *churn) run(ctx context.Context) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var kubelets sync.WaitGroup
	kubelets.Go(func() { c.beKubelet(watching) })
	defer kubelets.Wait()
	defer stop()
	full := c.options.nodes * perNode
	if err := c.makePods(ctx, full*3/4); err != nil {
		return err
	}
	end := time.Now().Add(c.options.duration)
	for tick := 0; time.Now().Before(end); tick++ {
		next := time.Now().Add(100 * time.Millisecond)
		// Mostly a few, sometimes many like those of a Deployment.
		count := c.options.rate / 10
		if tick%20 == 0 {
			count *= 5
		}
		if err := c.makePods(ctx, count); err != nil {
			return err
		}
		for len(c.pods) > full {
			if err := c.deleteOne(ctx); err != nil {
				return err
			}
		}
		if tick%3 == 0 {
			if err := c.changeNode(ctx); err != nil {
				return err
			}
		}
		if err := controlplane.Pause(ctx, time.Until(next)); err != nil {
			return err
		}
	}
	return controlplane.Pause(ctx, 2*time.Second)
}

func (c *churn) makePods(ctx context.Context, count int) error {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		pods[i] = c.newPod()
		c.pods = append(c.pods, pods[i].Name)
	}
	return controlplane.Each(ctx, count, func(i int) error {
		_, err := c.client.CoreV1().Pods(namespace).Create(ctx, pods[i], metav1.CreateOptions{})
		return err
	})
}

func (c *churn) newPod() *v1.Pod {
	c.made++
	app := fmt.Sprintf("app-%d", c.chance.IntN(12))
	grace := int64(c.chance.IntN(3))
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%06d", c.made), Labels: map[string]string{"app": app}},
		Spec: v1.PodSpec{TerminationGracePeriodSeconds: &grace,
			Containers: []v1.Container{{Name: "c", Image: "example.org/app:v1", Resources: v1.ResourceRequirements{Requests: controlplane.Resources(
				"cpu", []string{"100m", "250m", "500m", "1", "2"}[c.chance.IntN(5)],
				"memory", []string{"128Mi", "512Mi", "1Gi", "2Gi"}[c.chance.IntN(4)])}}}},
	}
	shapes[c.chance.IntN(len(shapes))](c, &pod.Spec, &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}})
	return pod
}

// shapes are the possible pods; a plain one is twice as likely.
var shapes = []func(c *churn, spec *v1.PodSpec, own *metav1.LabelSelector){
	func(*churn, *v1.PodSpec, *metav1.LabelSelector) {},
	func(*churn, *v1.PodSpec, *metav1.LabelSelector) {},
	func(c *churn, spec *v1.PodSpec, _ *metav1.LabelSelector) {
		spec.NodeSelector = map[string]string{diskLabel: []string{"ssd", "hdd", "nvme"}[c.chance.IntN(3)]}
	},
	func(c *churn, spec *v1.PodSpec, _ *metav1.LabelSelector) {
		in := func(zone string) v1.NodeSelectorTerm {
			return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
				{Key: zoneLabel, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}}}
		}
		spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{in("a"), in("b")}},
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 30, Preference: in("b")}}}}
	},
	func(c *churn, spec *v1.PodSpec, _ *metav1.LabelSelector) {
		spec.Tolerations = []v1.Toleration{{Key: dedicated, Operator: v1.TolerationOpExists}}
	},
	func(c *churn, spec *v1.PodSpec, own *metav1.LabelSelector) {
		spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
			{MaxSkew: 2, TopologyKey: zoneLabel, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: own},
			{MaxSkew: 1, TopologyKey: hostLabel, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: own}}
	},
	func(c *churn, spec *v1.PodSpec, own *metav1.LabelSelector) {
		spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{TopologyKey: hostLabel, LabelSelector: own}}}}
	},
	func(c *churn, spec *v1.PodSpec, own *metav1.LabelSelector) {
		spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: 40, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: zoneLabel, LabelSelector: own}}}}}
	},
	func(c *churn, spec *v1.PodSpec, _ *metav1.LabelSelector) { spec.PriorityClassName = "low" },
	func(c *churn, spec *v1.PodSpec, _ *metav1.LabelSelector) {
		// It uses most of a node, and preempts others if necessary.
		spec.PriorityClassName = "high"
		spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("3500m")
	},
	func(c *churn, spec *v1.PodSpec, _ *metav1.LabelSelector) {
		if c.chance.IntN(6) == 0 {
			spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("64") // fits no node
		}
	},
}

func (c *churn) deleteOne(ctx context.Context) error {
	i := c.chance.IntN(len(c.pods))
	name := c.pods[i]
	c.pods[i] = c.pods[len(c.pods)-1]
	c.pods = c.pods[:len(c.pods)-1]
	if err := c.client.CoreV1().Pods(namespace).Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// changeNode cordons, taints or labels a node or reverts that; rarely a node is deleted and created again later.
func (c *churn) changeNode(ctx context.Context) error {
	c.changes++
	if c.changes%15 == 0 {
		return c.replaceNode(ctx)
	}
	i := c.chance.IntN(c.options.nodes)
	patches := []string{
		`{"spec":{"unschedulable":true}}`, `{"spec":{"unschedulable":null}}`, `{"spec":{"unschedulable":null}}`,
		`{"spec":{"taints":[{"key":"` + dedicated + `","value":"yes","effect":"NoSchedule"}]}}`,
		`{"spec":{"taints":null}}`, `{"spec":{"taints":null}}`,
		`{"metadata":{"labels":{"` + diskLabel + `":"nvme"}}}`, `{"metadata":{"labels":{"` + diskLabel + `":"ssd"}}}`,
	}
	patch := patches[c.chance.IntN(len(patches))]
	_, err := c.client.CoreV1().Nodes().Patch(ctx, nodeName(i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (c *churn) replaceNode(ctx context.Context) error {
	if len(c.gone) > 2 {
		i := c.gone[0]
		c.gone = c.gone[1:]
		return c.makeNode(ctx, i)
	}
	i := c.chance.IntN(c.options.nodes)
	err := c.client.CoreV1().Nodes().Delete(ctx, nodeName(i), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	c.gone = append(c.gone, i)
	return err
}

// beKubelet starts bound pods, counts them, and removes terminating ones a little later.
func (c *churn) beKubelet(ctx context.Context) {
	version := ""
	waiting := map[types.UID]bool{}
	for ctx.Err() == nil {
		watch, err := c.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			version = ""
			continue
		}
		for event := range watch.ResultChan() {
			pod, ok := event.Object.(*v1.Pod)
			if !ok {
				version = ""
				break
			}
			version = pod.ResourceVersion
			c.see(ctx, pod, waiting)
		}
		watch.Stop()
	}
}

// start starts a pod, each at a different second: kube-scheduler chooses any of several victims with the same start
// time.
func (c *churn) start(ctx context.Context, pod *v1.Pod, number int64) {
	since := c.began.Add(time.Duration(number) * time.Second).UTC().Format(time.RFC3339)
	patch := fmt.Sprintf(`{"status":{"phase":"Running","startTime":%q}}`, since)
	go func() {
		_, _ = c.client.CoreV1().Pods(namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	}()
}

func (c *churn) see(ctx context.Context, pod *v1.Pod, waiting map[types.UID]bool) {
	switch {
	case pod.Spec.NodeName == "":
		waiting[pod.UID] = true
	case waiting[pod.UID]:
		delete(waiting, pod.UID)
		c.start(ctx, pod, c.bound.Add(1))
	}
	if pod.DeletionTimestamp == nil {
		return
	}
	delete(waiting, pod.UID)
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.DisruptionTarget {
			c.evicted.Add(1)
		}
	}
	if *pod.DeletionGracePeriodSeconds == 0 {
		return
	}
	time.AfterFunc(300*time.Millisecond, func() {
		now := int64(0)
		_ = c.client.CoreV1().Pods(namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	})
}
