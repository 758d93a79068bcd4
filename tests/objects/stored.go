// Package objects reads Kubernetes objects in the form in which a scheduler receives them, and adds them to
// the listers of its plugins.
package objects

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	kjson "sigs.k8s.io/json"

	// Register the API groups and their defaults in the scheme.
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// Decode reads an object, complete or handwritten, and returns it as the API server would have stored it.
func Decode(text []byte, apiVersion, kind string) (runtime.Object, error) {
	switch {
	case apiVersion == "v1" && kind == "Node":
		node, stored := new(v1.Node), new(v1.Node)
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, node); err != nil {
			return nil, err
		}
		complete(node)
		return stored, store(node, stored)
	case apiVersion == "v1" && kind == "Pod":
		pod, stored := new(v1.Pod), new(v1.Pod)
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, pod); err != nil {
			return nil, err
		}
		complete(pod)
		if pod.Namespace == "" {
			pod.Namespace = v1.NamespaceDefault
		}
		if err := completePodLevelResources(pod); err != nil {
			return nil, err
		}
		return stored, store(pod, stored)
	default:
		object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		complete(object)
		namespaced(object)
		return storedForm(object)
	}
}

// complete sets what the API server sets when an object is created: defaults, and a UID. An object of an API server
// does not change.
func complete(object runtime.Object) {
	legacyscheme.Scheme.Default(object)
	if m, err := meta.Accessor(object); err == nil && m.GetUID() == "" {
		m.SetUID(types.UID(fmt.Sprintf("%T:%s/%s", object, m.GetNamespace(), m.GetName())))
	}
}

// store encodes and decodes an object as between API server and kube-scheduler. Empty lists and maps become missing
// ones: some plugins distinguish them, and the difference cannot occur in a cluster.
func store(object interface{ Marshal() ([]byte, error) }, stored interface{ Unmarshal([]byte) error }) error {
	bytes, err := object.Marshal()
	if err != nil {
		return err
	}
	return stored.Unmarshal(bytes)
}

// storedForm is store for an object of any kind.
func storedForm(object runtime.Object) (runtime.Object, error) {
	from, ok := object.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return object, nil
	}
	stored, err := legacyscheme.Scheme.New(object.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, err
	}
	to, ok := stored.(interface{ Unmarshal([]byte) error })
	if !ok {
		return object, nil
	}
	return stored, store(from, to)
}

// namespaced sets the namespace default in an object of a namespaced kind that has none.
func namespaced(object runtime.Object) {
	switch object.(type) {
	case *v1.Service, *v1.ReplicationController, *v1.PersistentVolumeClaim, *appsv1.ReplicaSet, *appsv1.StatefulSet,
		*policyv1.PodDisruptionBudget, *storagev1.CSIStorageCapacity, *resourcev1.ResourceClaim:
		if m, err := meta.Accessor(object); err == nil && m.GetNamespace() == "" {
			m.SetNamespace(v1.NamespaceDefault)
		}
	}
}

// completePodLevelResources sets what the API server derives for spec.resources. The scheme's defaults do not contain
// it: the server does it when it stores a new pod.
func completePodLevelResources(pod *v1.Pod) error {
	if pod.Spec.Resources == nil {
		return nil
	}
	internal := new(core.Pod)
	if err := legacyscheme.Scheme.Convert(pod.DeepCopy(), internal, nil); err != nil {
		return err
	}
	podutil.DefaultPodLevelResources(internal)
	external := new(v1.Pod)
	if err := legacyscheme.Scheme.Convert(internal, external, nil); err != nil {
		return err
	}
	pod.Spec.Resources = external.Spec.Resources
	return nil
}
