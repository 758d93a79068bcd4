package main

import (
	"encoding/json"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"sigs.k8s.io/yaml"

	// Register the defaults of pods and nodes in the scheme.
	_ "k8s.io/kubernetes/pkg/apis/core/install"
)

// complete writes the objects as an API server would: with all defaults, in Go's order of fields. The requests to
// extenders can then be compared byte for byte.
func complete(documents string) ([]byte, error) {
	list := struct {
		Kind       string `json:"kind"`
		APIVersion string `json:"apiVersion"`
		Items      []any  `json:"items"`
	}{Kind: "List", APIVersion: "v1"}
	for _, document := range strings.Split(documents, "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			return nil, err
		}
		switch kind.Kind {
		case "Node":
			var node v1.Node
			if err := yaml.Unmarshal([]byte(document), &node); err != nil {
				return nil, err
			}
			node.UID = "u-" + "node-" + node.UID
			legacyscheme.Scheme.Default(&node)
			list.Items = append(list.Items, node)
		case "Pod":
			var pod v1.Pod
			if err := yaml.Unmarshal([]byte(document), &pod); err != nil {
				return nil, err
			}
			pod.Namespace = v1.NamespaceDefault
			pod.Annotations = map[string]string{"note": "<&> \u2028 \"ü\" \t"}
			legacyscheme.Scheme.Default(&pod)
			list.Items = append(list.Items, pod)
		default:
			return nil, fmt.Errorf("unexpected kind %q", kind.Kind)
		}
	}
	return json.Marshal(list)
}
