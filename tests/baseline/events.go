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

// change is an object that comes, changes or goes.
type change struct {
	kind   string // ADDED, MODIFIED, DELETED
	object runtime.Object
}

// turn is a pod to decide about, and what happens before that.
type turn struct {
	changes []change
	pod     *v1.Pod
}

// story is a cluster and the pods that come to it.
type story struct {
	nodes  int
	before []change // what is there before the first pod that waits
	turns  []turn
}

func readStory(path string) (*story, error) {
	if path == "-" {
		return parseStory(os.Stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parseStory(file)
}

func parseStory(r io.Reader) (*story, error) {
	var s story
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
		return nil, fmt.Errorf("no pod waits for a node")
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
