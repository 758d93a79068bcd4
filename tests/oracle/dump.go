package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	// The installers put the API groups a dump may hold, and their defaults, into the scheme.
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
)

// Dump is a cluster at rest, as kubectl prints it.
type Dump struct {
	Nodes []*v1.Node
	Pods  []*v1.Pod
	// Others are the objects only some plugins look at: claims, volumes, classes, services and so on.
	Others []runtime.Object
	// Problems names the objects that could not be read.
	Problems []string
}

// envelope is what every object and every list has in common.
type envelope struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// readFile adds the objects of a file, `-` being standard input.
func (d *Dump) readFile(path string) error {
	if path == "-" {
		return d.read(os.Stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := d.read(file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// read adds the objects of a text.
func (d *Dump) read(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	documents, err := splitDocuments(text)
	if err != nil {
		return err
	}
	for _, document := range documents {
		if err := d.add(document, "", ""); err != nil {
			return err
		}
	}
	return nil
}

// splitDocuments turns one or more JSON values, or a stream of YAML documents, into JSON.
func splitDocuments(text []byte) (documents []json.RawMessage, err error) {
	if utilyaml.IsJSONBuffer(text) {
		if documents, err = splitJSON(text); err == nil {
			return documents, nil
		}
		// A YAML document may begin with a brace as well. If it is neither, the YAML reader's complaint is the
		// better one: it names a line.
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	documents = nil
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		converted, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(bytes.TrimSpace(converted), []byte("null")) {
			documents = append(documents, converted)
		}
	}
}

func splitJSON(text []byte) (documents []json.RawMessage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var document json.RawMessage
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, err
		}
		documents = append(documents, document)
	}
}

// add takes one object or list. Items of a typed list (NodeList) may lack their kind; they inherit it.
func (d *Dump) add(text []byte, apiVersion, kind string) error {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	if e.Kind == "" {
		e.APIVersion, e.Kind = apiVersion, kind
	}
	if e.Kind == "" {
		return errors.New("an object without kind")
	}
	if item, isList := strings.CutSuffix(e.Kind, "List"); isList {
		for _, text := range e.Items {
			if err := d.add(text, e.APIVersion, item); err != nil {
				return err
			}
		}
		return nil
	}
	if err := d.addObject(text, e); err != nil {
		d.Problems = append(d.Problems, fmt.Sprintf("%s %s/%s: %v", e.Kind, e.Metadata.Namespace, e.Metadata.Name, err))
	}
	return nil
}

func (d *Dump) addObject(text []byte, e envelope) error {
	if e.Metadata.Name == "" {
		return errors.New("metadata.name is missing")
	}
	switch {
	case e.APIVersion == "v1" && e.Kind == "Node":
		node := new(v1.Node)
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, node); err != nil {
			return err
		}
		complete(node)
		stored := new(v1.Node)
		if err := store(node, stored); err != nil {
			return err
		}
		d.Nodes = append(d.Nodes, stored)
	case e.APIVersion == "v1" && e.Kind == "Pod":
		pod := new(v1.Pod)
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, pod); err != nil {
			return err
		}
		complete(pod)
		if pod.Namespace == "" {
			pod.Namespace = v1.NamespaceDefault
		}
		if err := completePodLevelResources(pod); err != nil {
			return err
		}
		stored := new(v1.Pod)
		if err := store(pod, stored); err != nil {
			return err
		}
		d.Pods = append(d.Pods, stored)
	default:
		object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return err
		}
		complete(object)
		namespaced(object)
		stored, err := storedForm(object)
		if err != nil {
			return err
		}
		d.Others = append(d.Others, stored)
	}
	return nil
}

// complete does to a handwritten object what the API server would have done when it was created: defaults,
// and a UID. To an object that comes from an API server it does nothing.
func complete(object runtime.Object) {
	legacyscheme.Scheme.Default(object)
	if m, err := meta.Accessor(object); err == nil && m.GetUID() == "" {
		m.SetUID(types.UID(fmt.Sprintf("%T:%s/%s", object, m.GetNamespace(), m.GetName())))
	}
}

// store takes an object through the encoding in which the API server keeps it and kube-scheduler receives it.
// That makes an empty list or map the same as a missing one, a difference some plugins would otherwise see in
// handwritten objects and never in a cluster.
func store(object interface{ Marshal() ([]byte, error) }, stored interface{ Unmarshal([]byte) error }) error {
	bytes, err := object.Marshal()
	if err != nil {
		return err
	}
	return stored.Unmarshal(bytes)
}

// storedForm does the same to an object of any kind.
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

// namespaced gives an object of a kind that lives in namespaces the namespace default, if it has none.
func namespaced(object runtime.Object) {
	switch object.(type) {
	case *v1.Service, *v1.ReplicationController, *v1.PersistentVolumeClaim, *appsv1.ReplicaSet, *appsv1.StatefulSet,
		*policyv1.PodDisruptionBudget, *storagev1.CSIStorageCapacity, *resourcev1.ResourceClaim:
		if m, err := meta.Accessor(object); err == nil && m.GetNamespace() == "" {
			m.SetNamespace(v1.NamespaceDefault)
		}
	}
}

// completePodLevelResources fills in what the API server derives for spec.resources. That is not part of the
// scheme's defaults any more: the server does it when it stores a new pod.
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

func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// sortedNodes and sortedPods fix the order in which things enter the cache, which a dump leaves open.
func (d *Dump) sortedNodes() []*v1.Node {
	return slices.SortedStableFunc(slices.Values(d.Nodes), func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
}

func (d *Dump) sortedPods() []*v1.Pod {
	return slices.SortedStableFunc(slices.Values(d.Pods), func(a, b *v1.Pod) int {
		if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// pendingPods are the pods to be judged, in the order of the input.
func (d *Dump) pendingPods() []*v1.Pod {
	var pending []*v1.Pod
	for _, pod := range d.Pods {
		if pod.Spec.NodeName == "" {
			pending = append(pending, pod)
		}
	}
	return pending
}
