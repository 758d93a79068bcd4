package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

const (
	zoneLabel = "topology.kubernetes.io/zone"
	hostLabel = "kubernetes.io/hostname"
	diskLabel = "shadow.example.org/disk"
	dedicated = "shadow.example.org/dedicated"
	namespace = "default"
	driver    = "gpu.example.org"
	// Of the device class.
	gpuResource = "example.org/gpu"
	perNode     = 9 // number of pods at which the cluster is nearly full
)

// churn is the workload.
type churn struct {
	client  kubernetes.Interface
	options *options
	chance  *rand.Rand
	made    int
	pods    []string  // in the order of their creation
	filled  bool      // the first pods exist
	changes int       // of nodes
	gone    []int     // nodes
	began   time.Time // of the start of the first pod
	bound   atomic.Int64
	evicted atomic.Int64
	// Bound pods with devices.
	allocated atomic.Int64
}

func newChurn(client kubernetes.Interface, o *options) *churn {
	return &churn{client: client, options: o, chance: rand.New(rand.NewPCG(o.seed, 0)), began: time.Now().Add(-24 * time.Hour)}
}

func (c *churn) done() string {
	return fmt.Sprintf("%d pods created, %d bound (%d with devices), %d changes of nodes, %d pods preempted", c.made, c.bound.Load(), c.allocated.Load(), c.changes, c.evicted.Load())
}

func (c *churn) prepare(ctx context.Context) error {
	for name, value := range map[string]int32{"high": 1000, "low": -10} {
		_, err := c.client.SchedulingV1().PriorityClasses().Create(ctx,
			&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: resourcev1.DeviceClassSpec{
		ExtendedResourceName: new(gpuResource),
		Selectors:            []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}}}}}
	if _, err := c.client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	return controlplane.Each(ctx, c.options.nodes, func(i int) error {
		if err := c.makeDevices(ctx, i); err != nil {
			return err
		}
		return c.makeNode(ctx, i)
	})
}

// makeDevices publishes four devices of two models for every second node.
func (c *churn) makeDevices(ctx context.Context, i int) error {
	if i%2 == 1 {
		return nil
	}
	devices := make([]resourcev1.Device, 4)
	for d := range devices {
		model := []string{"small", "large"}[(d+i/2)%2]
		devices[d] = resourcev1.Device{Name: fmt.Sprintf("gpu-%d", d), Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}}}
	}
	name := nodeName(i)
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1}, Devices: devices}}
	_, err := c.client.ResourceV1().ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
	return err
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
	c.filled = true
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
		if err := c.makeClaim(ctx, pods[i]); err != nil {
			return err
		}
		_, err := c.client.CoreV1().Pods(namespace).Create(ctx, pods[i], metav1.CreateOptions{})
		return err
	})
}

// makeClaim creates the claim that the pod names, for one or two devices, with and without a selector.
func (c *churn) makeClaim(ctx context.Context, pod *v1.Pod) error {
	if len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	number := len(pod.Name) + int(pod.Name[len(pod.Name)-1])
	request := &resourcev1.ExactDeviceRequest{DeviceClassName: driver, Count: int64(1 + number%2)}
	if number%3 == 0 {
		request.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{
			Expression: fmt.Sprintf("device.attributes[%q].model == 'large'", driver)}}}
	}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Spec: resourcev1.ResourceClaimSpec{
		Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: request}}}}}
	_, err := c.client.ResourceV1().ResourceClaims(namespace).Create(ctx, claim, metav1.CreateOptions{})
	return err
}

// release ends the claims of a deleted pod, as kube-controller-manager would.
func (c *churn) release(ctx context.Context, pod *v1.Pod) {
	var names []string
	for _, reference := range pod.Spec.ResourceClaims {
		names = append(names, *reference.ResourceClaimName)
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		names = append(names, extended.ResourceClaimName)
	}
	for _, name := range names {
		claims := c.client.ResourceV1().ResourceClaims(namespace)
		_, _ = claims.Patch(ctx, name, types.MergePatchType, []byte(`{"status":{"allocation":null,"reservedFor":null}}`), metav1.PatchOptions{}, "status")
		_, _ = claims.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		_ = claims.Delete(ctx, name, metav1.DeleteOptions{})
	}
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
	possible := shapes
	if c.filled {
		possible = slices.Concat(shapes, deviceShapes)
	}
	possible[c.chance.IntN(len(possible))](c, &pod.Spec, &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}})
	for i := range pod.Spec.ResourceClaims {
		pod.Spec.ResourceClaims[i].ResourceClaimName = &pod.Name
	}
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

// deviceShapes are those with devices, once the cluster is filled. While it is filled, the writes of hundreds of claims
// would become visible seconds after the decisions, in more orders than berth tries.
var deviceShapes = []func(c *churn, spec *v1.PodSpec, own *metav1.LabelSelector){
	// Pods with devices have the highest priority: while their claims are written, kube-scheduler could evict them from
	// their node before they are bound, and no watch delivers that.
	func(_ *churn, spec *v1.PodSpec, _ *metav1.LabelSelector) {
		spec.PriorityClassName = "high"
		spec.ResourceClaims = []v1.PodResourceClaim{{Name: "devices"}}
	},
	func(_ *churn, spec *v1.PodSpec, _ *metav1.LabelSelector) {
		spec.PriorityClassName = "high"
		resources := &spec.Containers[0].Resources
		resources.Requests[gpuResource] = resource.MustParse("1")
		resources.Limits = controlplane.Resources(gpuResource, "1")
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
		events, err := c.client.CoreV1().Pods(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			version = ""
			continue
		}
		for event := range events.ResultChan() {
			pod, ok := event.Object.(*v1.Pod)
			if !ok {
				version = ""
				break
			}
			version = pod.ResourceVersion
			if event.Type == watch.Deleted {
				go c.release(ctx, pod)
			}
			c.see(ctx, pod, waiting)
		}
		events.Stop()
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
		if len(pod.Spec.ResourceClaims) > 0 || pod.Status.ExtendedResourceClaimStatus != nil {
			c.allocated.Add(1)
		}
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
