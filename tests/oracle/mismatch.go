package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// finding is one record that differs, with the kind of the difference.
type finding struct {
	kind    string
	example mismatch
}

// compareRecords matches the records of one scenario by pod.
func compareRecords(seed uint64, want, got []string, problem string) []finding {
	var found []finding
	add := func(kind, pod, detail, want, got string) {
		found = append(found, finding{kind, mismatch{seed: seed, pod: pod, detail: detail, want: want, got: got}})
	}
	if problem != "" && len(got) == 0 {
		for _, line := range want {
			add("no answer", podOf(line), problem, line, "")
		}
		return found
	}
	if problem != "" {
		add("error output", "-", problem, "", "")
	}
	answers := make(map[string]string, len(got))
	var order []string
	for _, line := range got {
		pod := podOf(line)
		if pod == "" {
			add("not a record", "-", "", "", line)
			continue
		}
		if _, twice := answers[pod]; twice {
			add("record twice", pod, "", "", line)
			continue
		}
		answers[pod] = line
		order = append(order, pod)
	}
	var pods []string
	for _, line := range want {
		pod := podOf(line)
		pods = append(pods, pod)
		answer, ok := answers[pod]
		switch {
		case !ok:
			add("record missing", pod, fmt.Sprintf("%d records instead of %d", len(got), len(want)), line, "")
		case line != answer:
			kind, detail := difference(line, answer)
			add(kind, pod, detail, focus(line, detail), focus(answer, detail))
		}
	}
	for _, pod := range order {
		if !slices.Contains(pods, pod) {
			add("record too many", pod, "", "", answers[pod])
		}
	}
	if len(found) == 0 && !slices.Equal(order, pods) {
		add("order of the records", "-", "", strings.Join(pods, " "), strings.Join(order, " "))
	}
	return found
}

// allocationTimedOut is the error of kube-scheduler's DynamicResources after filterTimeout. Berth limits the number of
// steps instead; so on a busy machine the time limit is reached first.
const allocationTimedOut = "timed out trying to allocate devices"

// withoutTimeouts removes the findings about pods for which the real allocator reached its time limit, and returns these
// pods.
func withoutTimeouts(found []finding, records []string) (others []finding, pods []string) {
	timedOut := make(map[string]bool)
	for _, line := range records {
		if strings.Contains(line, allocationTimedOut) {
			timedOut[podOf(line)] = true
		}
	}
	others = slices.DeleteFunc(found, func(f finding) bool {
		if timedOut[f.example.pod] {
			pods = append(pods, f.example.pod)
		}
		return timedOut[f.example.pod]
	})
	return others, pods
}

// podField finds the pod in a record that is not JSON.
var podField = regexp.MustCompile(`"pod": *"([^"]+)"`)

func podOf(line string) string {
	var r Record
	if json.Unmarshal([]byte(line), &r) == nil {
		return r.Pod
	}
	if match := podField.FindStringSubmatch(line); match != nil {
		return match[1]
	}
	return ""
}

func resultOf(line string) string {
	var r Record
	if json.Unmarshal([]byte(line), &r) != nil {
		return "?"
	}
	return r.Result
}

// difference returns the first difference. The kind is worded so that differences with the same cause have the same
// kind; the detail contains the place.
func difference(wantLine, gotLine string) (kind, detail string) {
	var want, got Record
	if err := json.Unmarshal([]byte(wantLine), &want); err != nil {
		return "the oracle's own record is not JSON", err.Error()
	}
	if err := json.Unmarshal([]byte(gotLine), &got); err != nil {
		return "not a JSON record", err.Error()
	}
	if want.Pod != got.Pod {
		return "pod", fmt.Sprintf("%s instead of %s", got.Pod, want.Pod)
	}
	if want.SchedulerName != got.SchedulerName {
		return "schedulerName", fmt.Sprintf("%q instead of %q", got.SchedulerName, want.SchedulerName)
	}
	// The verdict on a node is closer to the cause than the result that follows from it.
	if want.Nodes != nil && got.Nodes != nil {
		if kind, detail := nodesDifference(*want.Nodes, *got.Nodes); kind != "" {
			return kind, detail
		}
	}
	switch {
	case want.Result != got.Result:
		return fmt.Sprintf("result: %s instead of %s", got.Result, want.Result), ""
	case nominationDifference(want.Nomination, got.Nomination) != "":
		return nominationDifference(want.Nomination, got.Nomination), fmt.Sprintf("%s instead of %s", say(got.Nomination), say(want.Nomination))
	case preemptionPart(want.Message) != preemptionPart(got.Message):
		return "message of preemption", fmt.Sprintf("%q instead of %q", preemptionPart(got.Message), preemptionPart(want.Message))
	case want.Message != got.Message:
		return "message of " + want.Result, fmt.Sprintf("%q instead of %q", got.Message, want.Message)
	case (want.Nodes == nil) != (got.Nodes == nil):
		return "nodes present or absent", ""
	case want.Node != got.Node:
		return "node", fmt.Sprintf("%s instead of %s", got.Node, want.Node)
	case !slices.Equal(want.BestNodes, got.BestNodes):
		return "bestNodes", fmt.Sprintf("%v instead of %v", got.BestNodes, want.BestNodes)
	}
	if say(want.PreFilter) != say(got.PreFilter) {
		return "preFilter", fmt.Sprintf("%s instead of %s", say(got.PreFilter), say(want.PreFilter))
	}
	at := 0
	for at < len(wantLine) && at < len(gotLine) && wantLine[at] == gotLine[at] {
		at++
	}
	return "same content, other bytes", fmt.Sprintf("from byte %d on", at)
}

func say(v any) string {
	text, _ := toJSON(v)
	return string(text)
}

// nominationDifference is the difference of the nominations; empty: none.
func nominationDifference(want, got *Nomination) string {
	switch {
	case want == nil && got == nil:
		return ""
	case want == nil:
		return "nomination too many"
	case got == nil:
		return "nomination missing"
	case !slices.Equal(want.Choices, got.Choices):
		return "nomination: choices"
	case want.Node != got.Node:
		return "nomination: node"
	case !slices.Equal(want.Victims, got.Victims):
		return "nomination: victims"
	default:
		return ""
	}
}

// preemptionPart is the part of a message that PostFilter adds.
func preemptionPart(message string) string {
	if at := strings.Index(message, " preemption: "); at >= 0 {
		return message[at+1:]
	}
	return ""
}

func nodesDifference(want, got []NodeVerdict) (kind, detail string) {
	for i := range want {
		if i >= len(got) || want[i].Name != got[i].Name {
			return "list of nodes", fmt.Sprintf("%d entries instead of %d, first difference at %s", len(got), len(want), want[i].Name)
		}
	}
	if len(got) > len(want) {
		return "list of nodes", fmt.Sprintf("%d entries instead of %d", len(got), len(want))
	}
	for i := range want {
		if kind, detail := verdictDifference(want[i], got[i]); kind != "" {
			return kind, "node " + want[i].Name + ": " + detail
		}
	}
	return "", ""
}

func verdictDifference(want, got NodeVerdict) (kind, detail string) {
	verdict := func(v NodeVerdict) string {
		if v.Plugin == "" {
			return v.Code
		}
		return v.Plugin + " " + v.Code
	}
	if verdict(want) != verdict(got) {
		return fmt.Sprintf("verdict: %s instead of %s", verdict(got), verdict(want)), fmt.Sprintf("%v instead of %v", got.Reasons, want.Reasons)
	}
	if !slices.Equal(want.Reasons, got.Reasons) {
		return "reasons of " + want.Plugin, fmt.Sprintf("%q instead of %q", got.Reasons, want.Reasons)
	}
	if (want.Scores == nil) != (got.Scores == nil) {
		return "scores present or absent", ""
	}
	if want.Scores != nil {
		for _, plugin := range slices.Sorted(maps.Keys(*want.Scores)) {
			score, ok := (*got.Scores)[plugin]
			if !ok {
				return "score missing: " + plugin, fmt.Sprintf("real %d", (*want.Scores)[plugin])
			}
			if score != (*want.Scores)[plugin] {
				return "score of " + plugin, fmt.Sprintf("%d instead of %d", score, (*want.Scores)[plugin])
			}
		}
		for _, plugin := range slices.Sorted(maps.Keys(*got.Scores)) {
			if _, ok := (*want.Scores)[plugin]; !ok {
				return "score too many: " + plugin, fmt.Sprintf("berth %d", (*got.Scores)[plugin])
			}
		}
	}
	if (want.Total == nil) != (got.Total == nil) || want.Total != nil && *want.Total != *got.Total {
		return "total", ""
	}
	return "", ""
}

// focus reduces a record to the node of the detail; complete records of large clusters are too long for a screen.
func focus(line, detail string) string {
	rest, ok := strings.CutPrefix(detail, "node ")
	if !ok {
		return line
	}
	name, _, _ := strings.Cut(rest, ":")
	var r Record
	if json.Unmarshal([]byte(line), &r) != nil || r.Nodes == nil {
		return line
	}
	for _, verdict := range *r.Nodes {
		if verdict.Name == name {
			text, _ := toJSON(verdict)
			return string(text)
		}
	}
	return line
}
