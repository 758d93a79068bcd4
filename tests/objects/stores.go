package objects

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
)

// StoreOf returns the informer's store in which kube-scheduler's plugins look up an object. Nil: they use the events of
// the informer, or do not use the kind.
func StoreOf(factory informers.SharedInformerFactory, kind runtime.Object) cache.Store {
	var informer interface {
		Informer() cache.SharedIndexInformer
	}
	switch kind.(type) {
	case *v1.Namespace:
		informer = factory.Core().V1().Namespaces()
	case *v1.Service:
		informer = factory.Core().V1().Services()
	case *v1.ReplicationController:
		informer = factory.Core().V1().ReplicationControllers()
	case *appsv1.ReplicaSet:
		informer = factory.Apps().V1().ReplicaSets()
	case *appsv1.StatefulSet:
		informer = factory.Apps().V1().StatefulSets()
	case *policyv1.PodDisruptionBudget:
		informer = factory.Policy().V1().PodDisruptionBudgets()
	case *v1.PersistentVolume:
		informer = factory.Core().V1().PersistentVolumes()
	case *v1.PersistentVolumeClaim:
		informer = factory.Core().V1().PersistentVolumeClaims()
	case *storagev1.StorageClass:
		informer = factory.Storage().V1().StorageClasses()
	case *storagev1.CSINode:
		informer = factory.Storage().V1().CSINodes()
	case *storagev1.CSIDriver:
		informer = factory.Storage().V1().CSIDrivers()
	case *storagev1.CSIStorageCapacity:
		informer = factory.Storage().V1().CSIStorageCapacities()
	case *storagev1.VolumeAttachment:
		informer = factory.Storage().V1().VolumeAttachments()
	default:
		return nil
	}
	return informer.Informer().GetStore()
}

// Watched returns whether a kind reaches a plugin only through the informer's events: the caches of
// DynamicResources.
func Watched(object runtime.Object) bool {
	switch object.(type) {
	case *resourcev1.ResourceClaim, *resourcev1.ResourceSlice, *resourcev1.DeviceClass, *resourcev1.DeviceTaintRule:
		return true
	default:
		return false
	}
}

// Put adds everything but nodes and pods to the stores. Informers would do the same after a tenth of a second.
func Put(factory informers.SharedInformerFactory, others []runtime.Object) error {
	for _, object := range others {
		if store := StoreOf(factory, object); store != nil {
			if err := store.Add(object); err != nil {
				return fmt.Errorf("%T: %w", object, err)
			}
		}
	}
	return nil
}

// SilentRecorder discards events.
type SilentRecorder struct{}

func (SilentRecorder) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}

func (r SilentRecorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }
