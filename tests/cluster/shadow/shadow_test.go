package main

import (
	"encoding/json"
	"testing"
	"time"
)

const refusedOnNode = `I1129 04:02:01.000000    4429 other.go:1] "Something else" node="n2"
E1129 04:02:01.209987    4429 framework.go:1960] "Plugin Failed" err="pod a is being deleted" pod="default/a" plugin="DefaultBinder" node="n1"
`

func TestOnlyDisagreementsNextToAFailedBindingAreLeftOut(t *testing.T) {
	bindings, err := failedBindings(refusedOnNode)
	if err != nil || len(bindings) != 1 || bindings[0].node != "n1" {
		t.Fatalf("found %v, %v", bindings, err)
	}
	at := time.Date(2026, 11, 29, 4, 2, 1, 100, time.Local)
	for _, test := range []struct {
		what    string
		node    string
		at      time.Time
		leftOut bool
	}{
		{"the same node, before the failure", "n1", at, true},
		{"another node", "n2", at, false},
		{"long before", "n1", at.Add(-2 * time.Second), false},
	} {
		raw, err := json.Marshal(map[string]any{"time": test.at, "pod": "p", "outcome": "placeable", "candidate": map[string]string{"node": test.node}})
		if err != nil {
			t.Fatal(err)
		}
		f := findings{report: report{Disagreements: []json.RawMessage{raw}}}
		if err := f.leaveOut(bindings); err != nil {
			t.Fatal(err)
		}
		if leftOut := f.leftOut["placeable"] == 1 && len(f.report.Disagreements) == 0; leftOut != test.leftOut {
			t.Errorf("%s: left out: %v", test.what, leftOut)
		}
	}
}

func TestOnlySearchesThatWereCutOffAreRepeated(t *testing.T) {
	const limit = `{"because": "the search for an explanation reached its limit"}`
	for _, test := range []struct {
		disagreements []string
		wrong         []string
		cutOff        bool
	}{
		{nil, nil, false},
		{[]string{limit}, []string{"1 x placeable", "disagreement: " + limit}, true},
		{[]string{limit}, []string{"1 x placeable", "berth sent POST /api/v1/pods"}, false},
		{[]string{limit, `{"because": "another reason"}`}, nil, false},
		{[]string{`{}`}, nil, false},
	} {
		var f findings
		for _, raw := range test.disagreements {
			f.report.Disagreements = append(f.report.Disagreements, json.RawMessage(raw))
		}
		if cutOff, err := f.cutOff(test.wrong); err != nil || cutOff != test.cutOff {
			t.Errorf("%v: cut off: %v, %v", test.disagreements, cutOff, err)
		}
	}
}
