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

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"

	"berth.test/objects"
)

// Dump is the state of a cluster, as printed by kubectl.
type Dump struct {
	Nodes []*v1.Node
	Pods  []*v1.Pod
	// Others are the objects that only some plugins use: claims, volumes, classes, services and so on.
	Others []runtime.Object
	// Problems names the objects that could not be read.
	Problems []string
}

// envelope contains the fields of every object and every list.
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

// readCluster reads the objects of a recorded cluster. It is an error if one of them cannot be used.
func readCluster(text []byte) (*Dump, error) {
	var dump Dump
	if err := dump.read(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	if len(dump.Problems) > 0 {
		return nil, errors.New(strings.Join(dump.Problems, "; "))
	}
	return &dump, nil
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
		// A YAML document may also begin with a brace. If a text is neither, the error of the YAML reader is the better
		// one: it contains a line number.
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
	object, err := objects.Decode(text, e.APIVersion, e.Kind)
	if err != nil {
		return err
	}
	switch object := object.(type) {
	case *v1.Node:
		d.Nodes = append(d.Nodes, object)
	case *v1.Pod:
		d.Pods = append(d.Pods, object)
	default:
		d.Others = append(d.Others, object)
	}
	return nil
}

// all returns the objects of every kind.
func (d *Dump) all() []runtime.Object {
	all := slices.Clone(d.Others)
	for _, node := range d.Nodes {
		all = append(all, node)
	}
	for _, pod := range d.Pods {
		all = append(all, pod)
	}
	return all
}

// byKey returns the objects of every kind by objectKey.
func (d *Dump) byKey() map[string]runtime.Object {
	objects := make(map[string]runtime.Object)
	for _, o := range d.all() {
		objects[objectKey(o)] = o
	}
	return objects
}

// objectKey is the kind and the key of an object, as in a change.
func objectKey(o runtime.Object) string {
	m, err := meta.Accessor(o)
	if err != nil {
		panic(err) // every kind of a cluster has metadata
	}
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(o)
	if err != nil {
		panic(err) // decoded with this scheme
	}
	key := kinds[0].Kind + " "
	if m.GetNamespace() != "" {
		key += m.GetNamespace() + "/"
	}
	return key + m.GetName()
}

func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

func finished(pod *v1.Pod) bool {
	return pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
}

// sortedNodes and sortedPods fix the order of insertion into the cache, which a dump leaves open.
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

// pendingPods are the pods to evaluate, in the order of the input.
func (d *Dump) pendingPods() []*v1.Pod {
	var pending []*v1.Pod
	for _, pod := range d.Pods {
		if pod.Spec.NodeName == "" {
			pending = append(pending, pod)
		}
	}
	return pending
}
