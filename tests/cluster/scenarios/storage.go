package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"berth.test/cluster/controlplane"
)

// The steps of a scenario for volumes and budgets.

// storageClass creates a class with binding mode WaitForFirstConsumer.
func (s *stage) storageClass(name, provisioner string) {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := s.client.StorageV1().StorageClasses().Create(s.ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}, metav1.CreateOptions{})
	s.must(err)
}

type volumeOption func(*v1.PersistentVolume)

// volume creates a volume of a CSI driver.
func (s *stage) volume(name, class, size string, options ...volumeOption) {
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      controlplane.Resources("storage", size),
			AccessModes:                   []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimRetain,
			StorageClassName:              class,
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: "csi.example.org", VolumeHandle: s.ns + "-" + name}},
		},
	}
	for _, option := range options {
		option(volume)
	}
	_, err := s.client.CoreV1().PersistentVolumes().Create(s.ctx, volume, metav1.CreateOptions{})
	s.must(err)
	// The controller sets it Available; only then the scheduler may use it.
	s.until("volume "+name+" is Available", func() bool {
		found, err := s.client.CoreV1().PersistentVolumes().Get(s.ctx, name, metav1.GetOptions{})
		s.must(err)
		return found.Status.Phase != v1.VolumePending && found.Status.Phase != ""
	})
	s.pause(noticed)
}

// localTo makes a local volume of a node.
func localTo(node string) volumeOption {
	return func(p *v1.PersistentVolume) {
		p.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/data"}}
		p.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}}}
	}
}

func forOnePod(p *v1.PersistentVolume) {
	p.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOncePod}
}

func volumeLabelled(key, value string) volumeOption {
	return func(p *v1.PersistentVolume) { p.Labels = map[string]string{key: value} }
}

// claimedBy reserves a volume for a claim, like a provisioner.
func (s *stage) claimedBy(claim string) volumeOption {
	return func(p *v1.PersistentVolume) {
		found, err := s.client.CoreV1().PersistentVolumeClaims(s.ns).Get(s.ctx, claim, metav1.GetOptions{})
		s.must(err)
		p.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: s.ns, Name: claim, UID: found.UID}
	}
}

func (s *stage) claim(name, class, size string, modes ...v1.PersistentVolumeAccessMode) {
	if len(modes) == 0 {
		modes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	}
	_, err := s.client.CoreV1().PersistentVolumeClaims(s.ns).Create(s.ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: controlplane.Resources("storage", size)}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.pause(noticed)
}

func (s *stage) claimExists(name string) bool {
	_, err := s.client.CoreV1().PersistentVolumeClaims(s.ns).Get(s.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	s.must(err)
	return true
}

// annotation returns an annotation of a claim.
func (s *stage) annotation(claim, key string) string {
	found, err := s.client.CoreV1().PersistentVolumeClaims(s.ns).Get(s.ctx, claim, metav1.GetOptions{})
	s.must(err)
	return found.Annotations[key]
}

// patchClaim applies a JSON patch to a claim.
func (s *stage) patchClaim(name, patch string) {
	_, err := s.client.CoreV1().PersistentVolumeClaims(s.ns).Patch(s.ctx, name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// volumeOf returns the volume of a claim.
func (s *stage) volumeOf(claim string) string {
	found, err := s.client.CoreV1().PersistentVolumeClaims(s.ns).Get(s.ctx, claim, metav1.GetOptions{})
	s.must(err)
	if found.Status.Phase != v1.ClaimBound {
		return ""
	}
	return found.Spec.VolumeName
}

// boundVolumeOf also waits for the controller: it sets the claim's volume, which lets pods continue, before
// it sets the phase Bound.
func (s *stage) boundVolumeOf(claim string) (volume string) {
	s.until("claim "+claim+" is bound", func() bool {
		volume = s.volumeOf(claim)
		return volume != ""
	})
	return volume
}

// claimBound waits for the controller and then for the scheduler to observe it.
func (s *stage) claimBound(claim string) {
	s.until("claim "+claim+" is bound", func() bool { return s.volumeOf(claim) != "" })
	s.pause(noticed)
}

// provision simulates a provisioner: it waits for the selected node and creates a volume there.
func (s *stage) provision(claim, volume, class, size string) {
	node := ""
	s.until("a node is selected for claim "+claim, func() bool {
		node = s.annotation(claim, "volume.kubernetes.io/selected-node")
		return node != ""
	})
	s.report("claim %s is to be provisioned for %s", claim, node)
	s.volume(volume, class, size, s.claimedBy(claim))
}

func using(claims ...string) podOption {
	return func(p *v1.Pod) {
		for _, claim := range claims {
			p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		}
	}
}

// ephemeral is a volume whose claim a controller creates from the pod's template.
func ephemeral(name, class, size string) podOption {
	return func(p *v1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{
			Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{
				Spec: v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class,
					Resources: v1.VolumeResourceRequirements{Requests: controlplane.Resources("storage", size)}}}}}})
	}
}

// disk is a volume that identifies a disk.
func disk(name string, readOnly bool) podOption {
	return func(p *v1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "disk", VolumeSource: v1.VolumeSource{
			ISCSI: &v1.ISCSIVolumeSource{TargetPortal: "10.0.0.1", IQN: "iqn.2026-01.org.example:" + name, ReadOnly: readOnly}}})
	}
}

// csiNode sets the number of volumes of the driver that a node can attach.
func (s *stage) csiNode(node string, count int32) {
	_, err := s.client.StorageV1().CSINodes().Create(s.ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "csi.example.org", NodeID: node,
			Allocatable: &storagev1.VolumeNodeResources{Count: &count}}}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.pause(noticed)
}

// csiDriver creates a driver that publishes its storage capacity.
func (s *stage) csiDriver(name string) {
	yes := true
	_, err := s.client.StorageV1().CSIDrivers().Create(s.ctx, &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}}, metav1.CreateOptions{})
	s.must(err)
}

// storageCapacity sets the capacity of a class on nodes with a label.
func (s *stage) storageCapacity(name, class, size, key, value string) {
	amount := resource.MustParse(size)
	_, err := s.client.StorageV1().CSIStorageCapacities(s.ns).Create(s.ctx, &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Name: name}, StorageClassName: class, Capacity: &amount,
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}}, metav1.CreateOptions{})
	s.must(err)
	s.pause(noticed)
}

// budget creates a budget for pods with a label, and waits until its controller has processed it.
func (s *stage) budget(name, key, value string, atLeast int, allowed int32) {
	least := intstr.FromInt(atLeast)
	_, err := s.client.PolicyV1().PodDisruptionBudgets(s.ns).Create(s.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.until(fmt.Sprintf("budget %s allows %d disruptions", name, allowed), func() bool {
		found, err := s.client.PolicyV1().PodDisruptionBudgets(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		s.must(err)
		return found.Status.ObservedGeneration == found.Generation && found.Status.DisruptionsAllowed == allowed
	})
	s.pause(noticed)
}

// stored is a kind of objects that scenarios with volumes leave behind.
type stored struct {
	list   func() ([]string, error)
	patch  func(name string, patch []byte) error
	remove func(name string) error
}

// tidyRest starts to delete all objects but pods and nodes, and returns their number.
func (s *stage) tidyRest(ctx context.Context) (count int, err error) {
	for _, kind := range append(s.leftovers(ctx), s.deviceLeftovers(ctx)...) {
		names, err := kind.list()
		if err != nil {
			return count, err
		}
		for _, name := range names {
			count++
			if err := kind.remove(name); err != nil && !apierrors.IsNotFound(err) {
				return count, err
			}
			if kind.patch == nil {
				continue
			}
			// No controller removes the protection.
			if err := kind.patch(name, []byte(`{"metadata":{"finalizers":null}}`)); err != nil && !apierrors.IsNotFound(err) {
				return count, err
			}
		}
	}
	return count, nil
}

func namesOf[T any, P interface {
	*T
	metav1.Object
}](items []T, err error) (names []string, _ error) {
	for i := range items {
		names = append(names, P(&items[i]).GetName())
	}
	slices.Sort(names)
	return names, err
}

func (s *stage) leftovers(ctx context.Context) []stored {
	core, storage, policy := s.client.CoreV1(), s.client.StorageV1(), s.client.PolicyV1()
	all, now := metav1.ListOptions{}, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	claims, volumes := core.PersistentVolumeClaims(s.ns), core.PersistentVolumes()
	return []stored{{
		func() ([]string, error) { l, err := claims.List(ctx, all); return namesOf(l.Items, err) },
		func(name string, patch []byte) error {
			_, err := claims.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		},
		func(name string) error { return claims.Delete(ctx, name, now) },
	}, {
		func() ([]string, error) { l, err := volumes.List(ctx, all); return namesOf(l.Items, err) },
		func(name string, patch []byte) error {
			_, err := volumes.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		},
		func(name string) error { return volumes.Delete(ctx, name, now) },
	}, {
		list: func() ([]string, error) {
			l, err := storage.StorageClasses().List(ctx, all)
			return namesOf(l.Items, err)
		},
		remove: func(name string) error { return storage.StorageClasses().Delete(ctx, name, now) },
	}, {
		list:   func() ([]string, error) { l, err := storage.CSINodes().List(ctx, all); return namesOf(l.Items, err) },
		remove: func(name string) error { return storage.CSINodes().Delete(ctx, name, now) },
	}, {
		list:   func() ([]string, error) { l, err := storage.CSIDrivers().List(ctx, all); return namesOf(l.Items, err) },
		remove: func(name string) error { return storage.CSIDrivers().Delete(ctx, name, now) },
	}, {
		list: func() ([]string, error) {
			l, err := storage.CSIStorageCapacities(s.ns).List(ctx, all)
			return namesOf(l.Items, err)
		},
		remove: func(name string) error { return storage.CSIStorageCapacities(s.ns).Delete(ctx, name, now) },
	}, {
		list: func() ([]string, error) {
			l, err := policy.PodDisruptionBudgets(s.ns).List(ctx, all)
			return namesOf(l.Items, err)
		},
		remove: func(name string) error { return policy.PodDisruptionBudgets(s.ns).Delete(ctx, name, now) },
	}, {
		list:   func() ([]string, error) { l, err := core.Services(s.ns).List(ctx, all); return namesOf(l.Items, err) },
		remove: func(name string) error { return core.Services(s.ns).Delete(ctx, name, now) },
	}}
}
