package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"berth.test/cluster/controlplane"
)

// attack is a row of the table. Images with names that collide in hash tables are no row: the seeds of both
// schedulers are random.
type attack struct {
	name    string
	about   string // with the numbers at scale 1
	restart bool   // the scheduler is restarted while the objects exist
	keeps   int64  // further bytes that berth keeps for a time, at scale 1: parts of pods, series of events
	// run creates the objects of a tenant, or sends the requests. Sizes of single objects are not scaled.
	run func(ctx context.Context, v *victim) error
}

var attacks = []attack{
	{name: "none", about: "no attack", restart: true, run: none},
	{name: "claims", about: "claims with an integer beyond 64 bits, JSON of 1,100 levels, invalid UTF-8", restart: true, run: claims},
	{name: "resources", about: "a pod with 40,000 extended resources", restart: true, run: resources},
	{name: "containers", about: "5 pods with 600 containers and 600 init containers, 20 extended resources in each", run: inTurn(containers)},
	{name: "ports", about: "5 pods with 4,000 host ports on 5 addresses each, on one node, and 20 such pods that wait", run: ports},
	{name: "resizes", about: "1,000 unschedulable pods; 50 bound pods are resized 2,000 times", keeps: 10 << 20, run: resizes},
	{name: "topology-keys", about: "5 pods with 8,000 topology keys each", run: inTurn(topologyKeys)},
	{name: "spread", about: "5 pods with 4,000 spread constraints each", run: inTurn(spread)},
	{name: "label-values", about: "5 pods with 60,000 label values each", run: inTurn(labelValues)},
	{name: "affinity", about: "20,000 pods with distinct labels, one with 3,000 preferred affinity terms", keeps: 20 << 20, run: affinity},
	{name: "device-search", about: "5 pods with a claim for 16 of 32 devices that have 15 values of an attribute that must differ", run: deviceSearch},
	{name: "device-selectors", about: "5 pods with a claim of 8 requests with selectors that need the permitted cost, 640 devices", run: deviceSelectors},
	{name: "large-pods", about: "260 pods of 0.9 MB", run: largePods},
	{name: "pending", about: "10,000 unschedulable pods, 10,000 bound pods are deleted", keeps: 40 << 20, run: pending},
	{name: "webhook", about: "1,000 pods whose bindings an admission webhook answers after 5 s", keeps: 10 << 20, run: webhook},
	{name: "certificates", about: "600 pipelined requests with a chain of 231 certificates, 10 connections", run: certificates},
	{name: "accept", about: "600 pipelined requests with an `Accept` header of 60 KB, 5 connections", run: accept},
	{name: "connections", about: "3,000 idle connections for 10 s", run: hold("")},
	{name: "handshakes", about: "3,000 connections with the beginning of a TLS handshake for 10 s", run: hold("\x16\x03\x01\x02\x00\x01")},
	{name: "tokens", about: "5,000 requests with different invalid tokens", run: tokens},
}

func names() (all []string) {
	for _, a := range attacks {
		all = append(all, a.name)
	}
	return all
}

func none(context.Context, *victim) error { return nil }

// create creates pods of the tenant in parallel. Without the entry in managedFields, the API server would record
// every key of a pod, and the pod would exceed etcd's limit.
func (v *victim) create(ctx context.Context, count int, pod func(i int) *v1.Pod) error {
	return controlplane.Each(ctx, count, func(i int) error {
		made := pod(i)
		made.ManagedFields = []metav1.ManagedFieldsEntry{{}}
		_, err := v.tenant.CoreV1().Pods(v.namespace).Create(ctx, made, metav1.CreateOptions{})
		return err
	})
}

func tenantPod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main", Image: "registry.example/tenant:v1"}}},
	}
}

func claims(ctx context.Context, v *victim) error {
	const depth = 1100
	for name, parameters := range map[string]string{
		"integer": `{"a": 123456789012345678901234567890}`,
		"nesting": strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth),
		"utf-8":   "{\"a\": \"\xff\xfe\"}",
	} {
		claim := &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
				Requests: []resourcev1.DeviceRequest{{Name: "device", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "example.com"}}},
				Config: []resourcev1.DeviceClaimConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{
					Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: "example.com", Parameters: runtime.RawExtension{Raw: []byte(parameters)}},
				}}},
			}},
		}
		if _, err := v.tenant.ResourceV1().ResourceClaims(v.namespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("claim %s: %w", name, err)
		}
	}
	return nil
}

func resources(ctx context.Context, v *victim) error {
	pod := tenantPod("resources")
	list := make(v1.ResourceList)
	for i := range 40000 {
		list[v1.ResourceName("a/"+strconv.FormatInt(int64(46656+i), 36))] = resource.Quantity{}
	}
	pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: list, Limits: list}
	return v.create(ctx, 1, func(int) *v1.Pod { return pod })
}

func containers(i int) *v1.Pod {
	pod := tenantPod(fmt.Sprintf("containers-%d", i))
	many := func(prefix string) (made []v1.Container) {
		for c := range 600 {
			list := make(v1.ResourceList)
			for r := range 20 {
				list[v1.ResourceName(fmt.Sprintf("a/%d-%d", i, (c+r*7)%2000))] = resource.Quantity{}
			}
			made = append(made, v1.Container{Name: fmt.Sprintf("%s-%d", prefix, c), Image: "a",
				Resources: v1.ResourceRequirements{Requests: list, Limits: list}})
		}
		return made
	}
	always := v1.ContainerRestartPolicyAlways
	pod.Spec.Containers, pod.Spec.InitContainers = many("main"), many("init")
	for c := range pod.Spec.InitContainers {
		if c%2 == 0 {
			pod.Spec.InitContainers[c].RestartPolicy = &always
		}
	}
	return pod
}

// ports creates pods that use the same ports: five on one node, each with an address of its own, and others that fit on
// no other node.
func ports(ctx context.Context, v *victim) error {
	const count = 4000
	create := func(pods int, prefix string, change func(pod *v1.Pod, i int)) error {
		return v.create(ctx, pods, func(i int) *v1.Pod {
			pod := tenantPod(fmt.Sprintf("%s-%d", prefix, i))
			for port := range count {
				pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, v1.ContainerPort{
					ContainerPort: int32(1000 + port), HostPort: int32(1000 + port), Protocol: v1.ProtocolTCP, HostIP: fmt.Sprintf("10.0.0.%d", i%5)})
			}
			change(pod, i)
			return pod
		})
	}
	if err := create(5, "bound", func(pod *v1.Pod, _ int) { pod.Spec.NodeName = nodeName(0) }); err != nil {
		return err
	}
	return create(scaled(v.o.scale, 20, 5), "waiting", func(pod *v1.Pod, _ int) {
		pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: nodeName(0)}
	})
}

// resizes changes the requests of bound pods. Each smaller request may make room for the pods that wait.
func resizes(ctx context.Context, v *victim) error {
	bound, waiting := 50, scaled(v.o.scale, 1000, 20)
	if err := v.create(ctx, bound+waiting, func(i int) *v1.Pod {
		pod := tenantPod(fmt.Sprintf("pod-%d", i))
		pod.Spec.Containers[0].Resources.Requests = controlplane.Resources("cpu", "33")
		if i < bound {
			pod.Spec.NodeName = nodeName(i % v.nodes)
			pod.Spec.Containers[0].Resources.Requests = controlplane.Resources("cpu", "200m")
		}
		return pod
	}); err != nil {
		return err
	}
	if err := v.settled(ctx); err != nil {
		return err
	}
	return controlplane.Each(ctx, bound, func(i int) error {
		for change := range scaled(v.o.scale, 2000, 100) / bound {
			patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"%dm"}}}]}}`, 100+(change%2)*100)
			_, err := v.tenant.CoreV1().Pods(v.namespace).Patch(ctx, fmt.Sprintf("pod-%d", i), types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// inTurn creates five pods, or fewer at a small scale, each after the last one was decided and deleted.
func inTurn(pod func(i int) *v1.Pod) func(ctx context.Context, v *victim) error {
	return func(ctx context.Context, v *victim) error {
		for i := range scaled(v.o.scale, 5, 3) {
			if err := v.create(ctx, 1, func(int) *v1.Pod { return pod(i) }); err != nil {
				return err
			}
			if err := v.settled(ctx); err != nil {
				return err
			}
			if err := v.deleteAll(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

func selector(value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
}

func topologyKeys(i int) *v1.Pod {
	pod := tenantPod(fmt.Sprintf("topology-keys-%d", i))
	against := new(v1.PodAntiAffinity)
	for k := range 8000 {
		against.PreferredDuringSchedulingIgnoredDuringExecution = append(against.PreferredDuringSchedulingIgnoredDuringExecution, v1.WeightedPodAffinityTerm{
			Weight: 1, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: fmt.Sprintf("key-%d-%d", i, k), LabelSelector: selector("a")}})
	}
	pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: against}
	return pod
}

func spread(i int) *v1.Pod {
	pod := tenantPod(fmt.Sprintf("spread-%d", i))
	for k := range 4000 {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: fmt.Sprintf("key-%d-%d", i, k), WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: selector("a")})
	}
	return pod
}

func labelValues(i int) *v1.Pod {
	pod := tenantPod(fmt.Sprintf("label-values-%d", i))
	var values []string
	for k := range 60000 {
		values = append(values, fmt.Sprintf("value-%d-%d", i, k))
	}
	pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpNotIn, Values: values}}}}}}}
	return pod
}

func affinity(ctx context.Context, v *victim) error {
	if err := v.create(ctx, scaled(v.o.scale, 20000, 100), func(i int) *v1.Pod {
		pod := tenantPod(fmt.Sprintf("labelled-%d", i))
		pod.Labels["app"] = fmt.Sprintf("app-%d", i)
		pod.Spec.NodeName = nodeName(i % v.nodes)
		return pod
	}); err != nil {
		return err
	}
	pod := tenantPod("terms")
	to := new(v1.PodAffinity)
	for k := range 3000 {
		to.PreferredDuringSchedulingIgnoredDuringExecution = append(to.PreferredDuringSchedulingIgnoredDuringExecution, v1.WeightedPodAffinityTerm{
			Weight: 1, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: v1.LabelTopologyZone, LabelSelector: selector(fmt.Sprintf("app-%d", k))}})
	}
	pod.Spec.Affinity = &v1.Affinity{PodAffinity: to}
	return v.create(ctx, 1, func(int) *v1.Pod { return pod })
}

// largePods' texts all differ.
func largePods(ctx context.Context, v *victim) error {
	return v.create(ctx, scaled(v.o.scale, 260, 5), func(i int) *v1.Pod {
		pod := tenantPod(fmt.Sprintf("large-%d", i))
		text := func(kind string, k, size int) string {
			part := fmt.Sprintf("%s-%d-%d ", kind, i, k)
			return strings.Repeat(part, size/len(part))
		}
		pod.Annotations = make(map[string]string)
		for k := range 240 {
			pod.Annotations[fmt.Sprintf("example.com/%d-%d", i, k)] = text("annotation", k, 1000)
		}
		for k := range 650 {
			pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, v1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d_%d", i, k), Value: text("variable", k, 1000)})
		}
		return pod
	})
}

// pending deletes as many bound pods as there are pods that wait for more room than any node has. Each deletion may
// make room for any of them.
func pending(ctx context.Context, v *victim) error {
	count := scaled(v.o.scale, 10000, 100)
	bound := map[string]string{"state": "bound"}
	for prefix, change := range map[string]func(pod *v1.Pod, i int){
		"bound": func(pod *v1.Pod, i int) {
			pod.Labels = bound
			pod.Spec.NodeName = nodeName(i % v.nodes)
			pod.Spec.Containers[0].Resources.Requests = controlplane.Resources("cpu", "100m")
		},
		"pending": func(pod *v1.Pod, _ int) {
			pod.Spec.Containers[0].Resources.Requests = controlplane.Resources("cpu", "33")
		},
	} {
		if err := v.create(ctx, count, func(i int) *v1.Pod {
			pod := tenantPod(fmt.Sprintf("%s-%d", prefix, i))
			change(pod, i)
			return pod
		}); err != nil {
			return err
		}
	}
	if err := v.settled(ctx); err != nil {
		return err
	}
	return v.deletePods(ctx, metav1.ListOptions{LabelSelector: "state=bound"})
}
