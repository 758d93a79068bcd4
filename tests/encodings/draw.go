package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os/exec"
	"reflect"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"

	"berth.test/objects"
)

// odd contains texts that expose errors in the handling of bytes. Two are invalid UTF-8, which Go's JSON encoder
// repairs.
var odd = []string{"", "plain", "käse", "日本語のとても長いメッセージ", "a\x00b", "quote\"back\\slash", "<&>\u2028",
	"cut \xe6\x97", "latin \xe4 one", "always in \U0001F680 space, and longer than sixteen bytes"}

var quantities = []string{"0", "100m", "1", "1500m", "1.5Gi", "128974848", "129e6", "123Mi", "1e19", "9223372036854775807",
	"99999999999999999999Gi", "1n", "-5", "0.1Ki", "10e18", "12345678901234567890"}

// words are the usual texts; a small set keeps recordings small.
var words = append([]string{"zone", "web", "a name of more than fifteen bytes", "example.com/gpu", "Exists", "NoSchedule", "TCP"}, odd...)

// schedulerFuzzers cover what Kubernetes' own fuzzers rarely vary: texts, amounts and presence, which a scheduler
// evaluates.
func schedulerFuzzers(serializer.CodecFactory) []any {
	return []any{
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse(quantities[c.Intn(len(quantities))])
		},
		func(text *string, c randfill.Continue) { *text = words[c.Intn(len(words))] },
		// The API server requires exactly one; the others stay nil.
		func(source *v1.VolumeSource, c randfill.Continue) {
			fields := reflect.ValueOf(source).Elem()
			field := fields.Field(c.Intn(fields.NumField()))
			field.Set(reflect.New(field.Type().Elem()))
			c.Fill(field.Interface())
		},
		func(container *v1.Container, c randfill.Continue) {
			c.FillNoCustom(container)
			if c.Bool() {
				container.RestartPolicy = pick(c, v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever)
			}
		},
		func(rule *v1.ContainerRestartRule, c randfill.Continue) {
			c.FillNoCustom(rule)
			rule.Action = *pick(c, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers)
		},
		func(condition *v1.PodCondition, c randfill.Continue) {
			c.FillNoCustom(condition)
			condition.Type = *pick(c, v1.PodScheduled, v1.PodReady, v1.DisruptionTarget, v1.PodResizePending)
			condition.Message = odd[c.Intn(len(odd))]
		},
		func(spec *v1.PodSpec, c randfill.Continue) {
			c.FillNoCustom(spec)
			if c.Bool() {
				spec.NodeName = ""
			}
			if c.Bool() {
				spec.PreemptionPolicy = pick(c, v1.PreemptNever, v1.PreemptLowerPriority)
			}
			if c.Intn(8) == 0 {
				spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}, PodAffinity: &v1.PodAffinity{}}
			}
		},
		func(meta *metav1.ObjectMeta, c randfill.Continue) {
			c.FillNoCustom(meta)
			meta.Labels = map[string]string{"app": odd[c.Intn(len(odd))], odd[c.Intn(len(odd))]: "value"}
			meta.Annotations = map[string]string{"volume.kubernetes.io/selected-node": odd[c.Intn(len(odd))], "other": c.String(20)}
			if c.Intn(4) == 0 {
				meta.Labels, meta.Annotations = nil, map[string]string{}
			}
		},
	}
}

func pick[T any](c randfill.Continue, from ...T) *T { return &from[c.Intn(len(from))] }

func draw(seed int64, objects int) (pods []*v1.Pod, nodes []*v1.Node) {
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, schedulerFuzzers), rand.NewSource(seed), scheme.Codecs)
	for i := range objects {
		// From nearly empty objects to those with every field.
		fill.NilChance([]float64{0.9, 0.5, 0.1}[i%3]).NumElements(i%2, 1+i%4)
		if i%4 == 3 {
			node := new(v1.Node)
			fill.Fill(node)
			nodes = append(nodes, node)
			continue
		}
		pod := new(v1.Pod)
		fill.Fill(pod)
		pods = append(pods, pod)
	}
	return append(pods, &v1.Pod{}), append(nodes, &v1.Node{})
}

// fromOracle returns the pods and nodes of the oracle's random clusters in the form in which a scheduler receives them.
func fromOracle(program string, seed int64, clusters int) (pods []*v1.Pod, nodes []*v1.Node, err error) {
	for i := range clusters {
		text, err := exec.Command(program, "generate", "--seed", fmt.Sprint(seed+int64(i))).Output()
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", program, err)
		}
		var list struct{ Items []json.RawMessage }
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, nil, err
		}
		for _, item := range list.Items {
			var kind metav1.TypeMeta
			if err := json.Unmarshal(item, &kind); err != nil {
				return nil, nil, err
			}
			if kind.Kind != "Pod" && kind.Kind != "Node" {
				continue
			}
			var object runtime.Object
			if object, err = objects.Decode(item, "v1", kind.Kind); err != nil {
				return nil, nil, err
			}
			switch object := object.(type) {
			case *v1.Pod:
				pods = append(pods, object)
			case *v1.Node:
				nodes = append(nodes, object)
			}
		}
	}
	return pods, nodes, nil
}
