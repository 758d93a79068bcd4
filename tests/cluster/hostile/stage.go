package main

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.test/cluster/controlplane"
)

// stage is a control plane with nodes, a tenant, and one scheduler at a time.
type stage struct {
	*controlplane.ControlPlane
	o        *options
	children *controlplane.Children
	tenant   kubernetes.Interface
	nodes    int
}

const ordinary = "ordinary" // namespace of the pods that are not part of an attack

func newStage(ctx context.Context, o *options, directory string, children *controlplane.Children) (*stage, error) {
	control, err := controlplane.Start(ctx, o.Real, directory, children)
	if err != nil {
		return nil, err
	}
	s := &stage{ControlPlane: control, o: o, children: children, nodes: scaled(o.scale, 5000, 100)}
	if s.tenant, err = control.ClientAs(pkix.Name{CommonName: "tenant"}, "application/vnd.kubernetes.protobuf"); err != nil {
		return nil, err
	}
	room := controlplane.Resources("cpu", "32", "memory", "128Gi", "pods", "110")
	if err := controlplane.Each(ctx, s.nodes, func(i int) error {
		node := controlplane.ReadyNode(nodeName(i), room, v1.LabelTopologyZone, fmt.Sprintf("zone-%d", i%10))
		_, err := s.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	return s, s.makeNamespace(ctx, ordinary)
}

func nodeName(i int) string { return fmt.Sprintf("node-%d", i) }

// scaled is a scaled number, but at least least.
func scaled(scale float64, count, least int) int {
	return max(least, int(math.Round(scale*float64(count))))
}

func (s *stage) makeNamespace(ctx context.Context, name string) error {
	_, err := s.Client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// grantEdit creates a namespace and gives the tenant the permissions of the role edit. kube-controller-manager, which
// aggregates this role, does not run here, so the tenant gets the aggregated roles themselves. Resizing pods is not in
// them, but tenants with a vertical autoscaler have it.
func (s *stage) grantEdit(ctx context.Context, namespace string) error {
	if err := s.makeNamespace(ctx, namespace); err != nil {
		return err
	}
	resize := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "resize"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/resize"}, Verbs: []string{"patch"}}}}
	if _, err := s.Client.RbacV1().Roles(namespace).Create(ctx, resize, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, role := range []rbacv1.RoleRef{
		{Kind: "ClusterRole", Name: "system:aggregate-to-edit"}, {Kind: "ClusterRole", Name: "system:aggregate-to-view"}, {Kind: "Role", Name: "resize"},
	} {
		role.APIGroup = rbacv1.GroupName
		if _, err := s.Client.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    role,
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "tenant"}},
		}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// victim is a running scheduler under attack.
type victim struct {
	*stage
	namespace string // the tenant's
	child     *controlplane.Child
	port      int
	observer  *observer
}

// start starts a scheduler and returns the time until it has bound a pod that existed before.
func (v *victim) start(ctx context.Context, scheduler string) (time.Duration, error) {
	kubeconfig, err := v.WriteKubeconfig(v.URL, scheduler, "cert")
	if err != nil {
		return 0, err
	}
	config := v.File(scheduler + ".yaml")
	if err := os.WriteFile(config, []byte(controlplane.SchedulerConfig(kubeconfig, "default-scheduler")), 0o600); err != nil {
		return 0, err
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return 0, err
	}
	command := []string{v.o.Real, "kube-scheduler"}
	if scheduler == berth {
		command = []string{v.o.Berth, "scheduler", "--berth-http-address=127.0.0.1:0", fmt.Sprintf("--berth-record-buffer-size=%d", recordBytes)}
	}
	if v.observer, err = newObserver(ctx, v.Client, ports[0], v.o.limit); err != nil {
		return 0, err
	}
	const waiting = 0
	if err := v.observer.create(ctx, waiting); err != nil {
		return 0, err
	}
	v.port = ports[0]
	begun := time.Now()
	if v.child, err = v.children.Start(scheduler, command, "--config="+config, "--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", v.port)); err != nil {
		return 0, err
	}
	v.observer.scheduler = v.child
	if _, err := v.observer.bound(ctx, waiting); err != nil {
		return 0, err
	}
	took := time.Since(begun)
	v.observer.observe(ctx)
	return took, nil
}

// stop ends the observation and the scheduler.
func (v *victim) stop(found *result) error {
	if v.child == nil {
		return nil
	}
	err := v.observer.stop(found)
	running := v.child.Running()
	v.child.Stop()
	if err == nil && !running {
		err = v.child.Gone()
	}
	return err
}

// settled waits until a pod created from now on is bound.
func (v *victim) settled(ctx context.Context) error { return v.observer.settled(ctx) }

// measure runs one attack on a new process of a scheduler. An ordinary pod that is not bound in time is a result.
func (s *stage) measure(ctx context.Context, a attack, scheduler string) (found *result, err error) {
	v := &victim{stage: s, namespace: a.name + "-" + scheduler}
	if err := s.grantEdit(ctx, v.namespace); err != nil {
		return nil, err
	}
	found = &result{limit: s.o.limit, scale: s.o.scale}
	err = v.attack(ctx, a, scheduler, found)
	if stopped := v.stop(found); err == nil {
		err = stopped
	}
	if errors.Is(err, errNotBound) {
		found.stuck, err = true, v.deleteAll(ctx)
	}
	return found, err
}

func (v *victim) attack(ctx context.Context, a attack, scheduler string, found *result) (err error) {
	if _, err = v.start(ctx, scheduler); err != nil {
		return err
	}
	if err := controlplane.Pause(ctx, 500*time.Millisecond); err != nil {
		return err
	}
	if found.before, _, err = v.child.Memory(); err != nil {
		return err
	}
	spent := -v.child.CPUSeconds()
	if err := a.run(ctx, v); err != nil {
		return err
	}
	if err := v.settled(ctx); err != nil {
		return err
	}
	if a.restart {
		if _, found.peak, err = v.child.Memory(); err != nil {
			return err
		}
		spent += v.child.CPUSeconds()
		if err := v.stop(found); err != nil {
			return err
		}
		if found.restart, err = v.start(ctx, scheduler); err != nil {
			return err
		}
	}
	if err := v.deleteAll(ctx); err != nil {
		return err
	}
	if err := v.settled(ctx); err != nil {
		return err
	}
	if err := v.observer.stop(found); err != nil {
		return err
	}
	if err := controlplane.Pause(ctx, v.o.settle); err != nil {
		return err
	}
	// berth returns freed memory gradually, within about ten seconds.
	for deadline := time.Now().Add(time.Minute); ; {
		after, peak, err := v.child.Memory()
		if err != nil {
			return err
		}
		found.after, found.peak = after, max(peak, found.peak)
		if scheduler != berth || after <= a.allowed(found) || time.Now().After(deadline) {
			break
		}
		if err := controlplane.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
	found.cpu = spent + v.child.CPUSeconds()
	return nil
}

var atOnce = metav1.DeleteOptions{GracePeriodSeconds: new(int64)}

// deleteAll deletes all of the tenant's objects, in parallel.
func (v *victim) deleteAll(ctx context.Context) error {
	claims, err := v.tenant.ResourceV1().ResourceClaims(v.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, claim := range claims.Items {
		if err := v.tenant.ResourceV1().ResourceClaims(v.namespace).Delete(ctx, claim.Name, atOnce); err != nil {
			return err
		}
	}
	return v.deletePods(ctx, metav1.ListOptions{})
}

// deletePods deletes the selected pods of the tenant. They are listed without their contents, which may be large.
func (v *victim) deletePods(ctx context.Context, selected metav1.ListOptions) error {
	var list metav1.PartialObjectMetadataList
	if err := v.tenant.CoreV1().RESTClient().Get().Namespace(v.namespace).Resource("pods").
		VersionedParams(&selected, metav1.ParameterCodec).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").
		Do(ctx).Into(&list); err != nil {
		return err
	}
	return controlplane.Each(ctx, len(list.Items), func(i int) error {
		return v.tenant.CoreV1().Pods(v.namespace).Delete(ctx, list.Items[i].Name, atOnce)
	})
}
