package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"time"
)

// failedBinding is a binding that the API server refused, usually because the pod was being deleted. kube-scheduler
// had assumed the pod on the node: until the refusal the pod took room that no client can see.
type failedBinding struct {
	at   time.Time // of any year
	node string
}

var failedBindingLine = regexp.MustCompile(`(?m)^E(\d{4} [0-9:.]+) .*"Plugin Failed".* plugin="DefaultBinder" node="([^"]+)"`)

// failedBindings reads kube-scheduler's log.
func failedBindings(log string) (found []failedBinding, err error) {
	for _, match := range failedBindingLine.FindAllStringSubmatch(log, -1) {
		at, err := time.ParseInLocation("0102 15:04:05.000000", match[1], time.Local)
		if err != nil {
			return nil, err
		}
		found = append(found, failedBinding{at, match[2]})
	}
	return found, nil
}

// disagreement has the members of a disagreement that tell when and for which node it was.
type disagreement struct {
	Time      time.Time
	Pod       string
	Outcome   string
	Candidate struct{ Node string }
}

// explainedBy returns whether the node of Berth's decision had less room for kube-scheduler. A binding takes
// milliseconds.
func (d *disagreement) explainedBy(binding failedBinding) bool {
	local := d.Time.Local()
	later := binding.at.AddDate(local.Year()-binding.at.Year(), 0, 0).Sub(local)
	return d.Candidate.Node == binding.node && later.Abs() < time.Second
}

// leaveOut removes the disagreements that failed bindings explain.
func (f *findings) leaveOut(bindings []failedBinding) error {
	f.leftOut = map[string]int{}
	var rest []json.RawMessage
	for _, raw := range f.report.Disagreements {
		var one disagreement
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		explained := false
		for _, binding := range bindings {
			explained = explained || one.explainedBy(binding)
		}
		if !explained {
			rest = append(rest, raw)
			continue
		}
		f.leftOut[one.Outcome]++
		fmt.Printf("%s: %s, because a pod was assumed on %s whose binding failed\n", one.Pod, one.Outcome, one.Candidate.Node)
	}
	f.report.Disagreements = rest
	return nil
}

func (s *shadow) failedBindings() ([]failedBinding, error) {
	log, err := os.ReadFile(s.control.File("kube-scheduler.log"))
	if err != nil {
		return nil, err
	}
	return failedBindings(string(log))
}
