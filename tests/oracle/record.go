package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
)

// Results of one attempt.
const (
	resultScheduled     = "scheduled"
	resultUnschedulable = "unschedulable"
	resultError         = "error"
	resultGated         = "gated"
	resultIgnored       = "ignored"
)

// Record is the decision record of one pod. The order of the fields is the order of the keys in the output.
type Record struct {
	Pod           string            `json:"pod"`
	SchedulerName string            `json:"schedulerName"`
	Result        string            `json:"result"`
	Message       string            `json:"message,omitempty"`
	Node          string            `json:"node,omitempty"`
	BestNodes     []string          `json:"bestNodes,omitempty"`
	PreFilter     *PreFilterVerdict `json:"preFilter,omitempty"`
	// Nodes is a pointer because an empty cluster has an empty list, while an ignored pod has none.
	Nodes      *[]NodeVerdict `json:"nodes,omitempty"`
	Nomination *Nomination    `json:"nomination,omitempty"`
	// ExtenderErrors are failures that did not end the attempt.
	ExtenderErrors []ExtenderError `json:"extenderErrors,omitempty"`

	// search is the message before preemption.
	search string
	// candidates of preemption; nil: there are none.
	candidates *candidateSet
	// contradiction is set if the record contradicts the plugins.
	contradiction error
}

// Nomination is the node that preemption would free, with its victims.
type Nomination struct {
	Node    string   `json:"node"`
	Victims []string `json:"victims"`
	// Choices are all equally good nodes.
	Choices []string `json:"choices"`
}

// PreFilterVerdict is the PreFilter plugin that rejected the pod.
type PreFilterVerdict struct {
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin"`
	Reasons []string `json:"reasons"`
}

// NodeVerdict is the result for one node.
type NodeVerdict struct {
	Name    string   `json:"name"`
	Code    string   `json:"code"`
	Plugin  string   `json:"plugin,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	// Scores and Total are pointers because an empty object and a zero are also results.
	Scores    *map[string]int64 `json:"scores,omitempty"`
	Extenders map[string]int64  `json:"extenders,omitempty"`
	Total     *int64            `json:"total,omitempty"`
}

// line is the record as one line of JSON without white space; `<`, `>` and `&` are not escaped.
func (r *Record) line() (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return "", err
	}
	return strings.TrimSuffix(buffer.String(), "\n"), nil
}

func rejection(name string, status *fwk.Status) NodeVerdict {
	return NodeVerdict{
		Name:    name,
		Code:    status.Code().String(),
		Plugin:  status.Plugin(),
		Reasons: orderedReasons(status),
	}
}

// orderedReasons keeps a plugin's own order, except for NodeResourcesFit, which has none: it visits the scalar
// resources of a pod in the order of a Go map.
func orderedReasons(status *fwk.Status) []string {
	reasons := slices.Clone(status.Reasons())
	if status.Plugin() == "NodeResourcesFit" {
		slices.SortStableFunc(reasons, func(a, b string) int {
			if rankA, rankB := resourceRank(a), resourceRank(b); rankA != rankB {
				return rankA - rankB
			}
			return strings.Compare(a, b)
		})
	}
	return reasons
}

func resourceRank(reason string) int {
	fixed := []string{"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"}
	if rank := slices.Index(fixed, reason); rank >= 0 {
		return rank
	}
	return len(fixed)
}
