package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"berth.test/objects"
)

// change is a watch event.
type change struct {
	kind   string // ADDED, MODIFIED, DELETED
	object runtime.Object
}

// turn is a pod to schedule, and the changes before it.
type turn struct {
	changes []change
	pod     *v1.Pod
}

// scenario is a cluster and the pods to schedule in it.
type scenario struct {
	nodes  int
	before []change // the state before the first pending pod
	turns  []turn
}

func readScenario(path string) (*scenario, error) {
	if path == "-" {
		return parseScenario(os.Stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parseScenario(file)
}

func parseScenario(r io.Reader) (*scenario, error) {
	var s scenario
	var since []change
	lines := bufio.NewReaderSize(r, 1<<20)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		event, err := parseEvent(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if pod, ok := event.object.(*v1.Pod); ok && pod.Spec.NodeName == "" {
			s.turns = append(s.turns, turn{since, pod})
			since = nil
			continue
		}
		if len(s.turns) > 0 {
			since = append(since, event)
			continue
		}
		if _, ok := event.object.(*v1.Node); ok {
			s.nodes++
		}
		s.before = append(s.before, event)
	}
	if len(s.turns) == 0 {
		return nil, fmt.Errorf("there is no pending pod")
	}
	return &s, nil
}

func parseEvent(line []byte) (change, error) {
	var event struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return change{}, err
	}
	var kind struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(event.Object, &kind); err != nil {
		return change{}, err
	}
	object, err := objects.Decode(event.Object, kind.APIVersion, kind.Kind)
	return change{event.Type, object}, err
}
