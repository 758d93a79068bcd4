package main

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"fmt"
	"maps"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.test/cluster/controlplane"
)

const fillers = 20

// makeWork creates the objects that cause every kind of request of berth: on the actor's own nodes, in its
// own namespace.
func (a *actor) makeWork(ctx context.Context) error {
	client := a.control.Client
	steps := []func() error{
		func() error {
			_, err := client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.name}}, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := client.SchedulingV1().PriorityClasses().Create(ctx,
				&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		},
		func() error { return a.makeNode(ctx, "roomy", "4") },
		func() error { return a.makeNode(ctx, "full", "1") },
		// An ordinary pod: bound, with an event.
		func() error { return a.makePod(ctx, "plain", "roomy", "100m", nil) },
		// An unschedulable pod: condition and event; it is retried each time a filler is deleted, which
		// increments the event's count.
		func() error { return a.makePod(ctx, "large", "roomy", "100", nil) },
		func() error {
			for i := range fillers {
				if err := a.makePod(ctx, fmt.Sprintf("filler-%d", i), "roomy", "10m", placed(a, "roomy")); err != nil {
					return err
				}
			}
			return nil
		},
		// A pod that preempts another one.
		func() error { return a.makePod(ctx, "victim", "full", "1", placed(a, "full")) },
		func() error {
			return a.makePod(ctx, "urgent", "full", "1", func(pod *v1.Pod) { pod.Spec.PriorityClassName = "urgent" })
		},
		// An existing volume, and one to provision.
		func() error { return a.makeVolume(ctx) },
		func() error { return a.makeClaim(ctx, "there", "kubernetes.io/no-provisioner") },
		func() error { return a.makeClaim(ctx, "new", "example.org/provisioner") },
	}
	if a.provided.Claims {
		steps = append(steps,
			// Devices: a claim that gets its finalizer, and one that has it already.
			func() error { return a.makeDevices(ctx) },
			func() error { return a.makeDeviceClaim(ctx, "device") },
			func() error { return a.makeDeviceClaim(ctx, "protected", resourcev1.Finalizer) },
		)
	}
	if a.provided.extended {
		steps = append(steps,
			// Extended resources: a claim is created; and one of an earlier attempt, which was not allocated, is deleted.
			func() error { return a.makeExtended(ctx, "extended", nil) },
			func() error { return a.makeExtended(ctx, "tried", []v1.PodSchedulingGate{{Name: "example.org/claim"}}) },
			func() error { return a.makeEarlierClaim(ctx, "tried") },
		)
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (a *actor) node(kind string) string { return a.name + "-" + kind }

func (a *actor) makeNode(ctx context.Context, kind, cpu string) error {
	room := controlplane.Resources("cpu", cpu, "memory", "8Gi", "pods", "110")
	_, err := a.control.Client.CoreV1().Nodes().Create(ctx, controlplane.ReadyNode(a.node(kind), room), metav1.CreateOptions{})
	return err
}

// placed makes a pod that is already bound.
func placed(a *actor, kind string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.NodeName = a.node(kind) }
}

func (a *actor) makePod(ctx context.Context, name, node, cpu string, change func(*v1.Pod)) error {
	now := int64(0)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PodSpec{SchedulerName: a.name, NodeSelector: map[string]string{"kubernetes.io/hostname": a.node(node)},
			TerminationGracePeriodSeconds: &now,
			Containers: []v1.Container{{Name: "c", Image: "example.org/app:v1",
				Resources: v1.ResourceRequirements{Requests: controlplane.Resources("cpu", cpu)}}}},
	}
	if change != nil {
		change(pod)
	}
	_, err := a.control.Client.CoreV1().Pods(a.name).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func (a *actor) makeVolume(ctx context.Context) error {
	volumes := a.control.Client.CoreV1().PersistentVolumes()
	made, err := volumes.Create(ctx, &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec: v1.PersistentVolumeSpec{StorageClassName: a.name + "-there", AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Capacity:               controlplane.Resources("storage", "1Gi"),
			PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/volume"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	// The volume controller's status.
	made.Status.Phase = v1.VolumeAvailable
	_, err = volumes.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

// makeClaim creates a class with binding mode WaitForFirstConsumer, a claim of it, and its pod.
func (a *actor) makeClaim(ctx context.Context, name, provisioner string) error {
	class, wait := a.name+"-"+name, storagev1.VolumeBindingWaitForFirstConsumer
	_, err := a.control.Client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: provisioner, VolumeBindingMode: &wait}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = a.control.Client.CoreV1().PersistentVolumeClaims(a.name).Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{Requests: controlplane.Resources("storage", "1Gi")}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return a.makePod(ctx, "consumer-"+name, "roomy", "100m", func(pod *v1.Pod) {
		pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	})
}

func (a *actor) extendedResource() string { return "devices.example.org/" + a.name }

// makeDevices creates a class that provides an extended resource, and three devices on the roomy node.
func (a *actor) makeDevices(ctx context.Context) error {
	extended := a.extendedResource()
	classes := a.control.Client.ResourceV1().DeviceClasses()
	if _, err := classes.Create(ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: a.name}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &extended},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	node := a.node("roomy")
	_, err := a.control.Client.ResourceV1().ResourceSlices().Create(ctx, &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec: resourcev1.ResourceSliceSpec{Driver: "devices.example.org", NodeName: &node,
			Pool:    resourcev1.ResourcePool{Name: a.name, Generation: 1, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "one"}, {Name: "two"}, {Name: "three"}}},
	}, metav1.CreateOptions{})
	return err
}

// makeDeviceClaim creates a claim of one device, and its pod.
func (a *actor) makeDeviceClaim(ctx context.Context, name string, finalizers ...string) error {
	_, err := a.control.Client.ResourceV1().ResourceClaims(a.name).Create(ctx, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "device", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: a.name}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return a.makePod(ctx, "user-of-"+name, "roomy", "100m", func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
	})
}

// makeExtended creates a pod with an extended resource.
func (a *actor) makeExtended(ctx context.Context, name string, gates []v1.PodSchedulingGate) error {
	return a.makePod(ctx, name, "roomy", "100m", func(pod *v1.Pod) {
		pod.Spec.SchedulingGates = gates
		one := controlplane.Resources(a.extendedResource(), "1")
		pod.Spec.Containers[0].Resources.Limits = one
		maps.Copy(pod.Spec.Containers[0].Resources.Requests, one)
	})
}

// makeEarlierClaim creates the claim of an earlier attempt for a gated pod, and removes the gates.
func (a *actor) makeEarlierClaim(ctx context.Context, name string) error {
	pods := a.control.Client.CoreV1().Pods(a.name)
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if _, err := a.control.Client.ResourceV1().ResourceClaims(a.name).Create(ctx, &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-extended-resources-",
			Annotations:     map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "container-0-request-0", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: a.name}}}}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	pod.Spec.SchedulingGates = nil
	_, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	return err
}

// disturb deletes fillers from time to time so that the large pod is retried, and reads metrics.
func (a *actor) disturb(ctx context.Context) error {
	for _, s := range a.scrapers {
		s.reviewAccess()
	}
	if a.deleted == fillers || time.Since(a.disturbed) < time.Second {
		return nil
	}
	a.disturbed = time.Now()
	name := fmt.Sprintf("filler-%d", a.deleted)
	a.deleted++
	return a.control.Client.CoreV1().Pods(a.name).Delete(ctx, name, metav1.DeleteOptions{})
}

// scraper requests a scheduler's metrics; the response is not checked.
type scraper struct {
	client *http.Client
	url    string
	token  string
}

// addScrapers adds two: one with a token, which needs a token review, and one with a certificate, which needs only an
// access review.
func (a *actor) addScrapers(port int) error {
	pair, err := a.control.Authority.Sign(pkix.Name{CommonName: "scraper"}, false)
	if err != nil {
		return err
	}
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("https://127.0.0.1:%d/metrics", port)
	for _, s := range []*scraper{{token: a.control.Token}, {}} {
		security := &tls.Config{InsecureSkipVerify: true}
		if s.token == "" {
			security.Certificates = []tls.Certificate{certificate}
		}
		s.url, s.client = url, &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: security, DisableKeepAlives: true}}
		a.scrapers = append(a.scrapers, s)
	}
	return nil
}

func (s *scraper) reviewAccess() {
	question, err := http.NewRequest(http.MethodGet, s.url, nil)
	if err != nil {
		return
	}
	if s.token != "" {
		question.Header.Set("Authorization", "Bearer "+s.token)
	}
	if answer, err := s.client.Do(question); err == nil {
		answer.Body.Close()
	}
}
