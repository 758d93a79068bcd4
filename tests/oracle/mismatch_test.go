package main

import "testing"

func TestDifferencesAreNamedByCause(t *testing.T) {
	const want = `{"pod":"a/p","schedulerName":"s","result":"unschedulable","message":"m","nodes":[{"name":"n","code":"Unschedulable","plugin":"NodePorts","reasons":["r"]}]}`
	tests := []struct{ got, kind string }{
		{`{"pod":"a/p","schedulerName":"s","result":"unschedulable","message":"x","nodes":[{"name":"n","code":"Unschedulable","plugin":"NodePorts","reasons":["r"]}]}`, "message of unschedulable"},
		{`{"pod":"a/p","schedulerName":"s","result":"scheduled","nodes":[{"name":"n","code":"Success"}]}`, "verdict: Success instead of NodePorts Unschedulable"},
		{`{"pod":"a/p","schedulerName":"s","result":"unschedulable","message":"m","nodes":[{"name":"n","code":"Unschedulable","plugin":"NodePorts","reasons":["q"]}]}`, "reasons of NodePorts"},
		{`{"pod":"a/p", "schedulerName":"s","result":"unschedulable","message":"m","nodes":[{"name":"n","code":"Unschedulable","plugin":"NodePorts","reasons":["r"]}]}`, "same content, other bytes"},
		{`{"pod":"a/p","schedulerName":"s","result":"unschedulable","message":"m","nodes":[]}`, "list of nodes"},
		{`rubbish`, "not a JSON record"},
	}
	for _, test := range tests {
		if kind, detail := difference(want, test.got); kind != test.kind {
			t.Errorf("%s\n got kind %q (%s)\nwant %q", test.got, kind, detail, test.kind)
		}
	}
	const other = `{"pod":"a/q","schedulerName":"s","result":"ignored"}`
	found := compareRecords(1, []string{want, other}, []string{other}, "")
	if len(found) != 1 || found[0].kind != "record missing" {
		t.Errorf("a missing record gives %v", found)
	}
	found = compareRecords(1, []string{want, other}, []string{other, want}, "")
	if len(found) != 1 || found[0].kind != "order of the records" {
		t.Errorf("two records changed places: %v", found)
	}
	found = compareRecords(1, []string{want, other}, []string{"rubbish", want + ",", other}, "")
	if len(found) != 2 || found[0].kind != "not a record" || found[1].kind != "not a JSON record" {
		t.Errorf("rubbish gives %v", found)
	}
	found = compareRecords(1, []string{want, other}, nil, "it crashed")
	if len(found) != 2 || found[0].kind != "no answer" {
		t.Errorf("no answer gives %v", found)
	}
}

func TestOnlyPodsWithATimeoutOfTheRealAllocatorAreNotCompared(t *testing.T) {
	records := []string{
		`{"pod":"a/slow","schedulerName":"s","result":"error","message":"node n: timed out trying to allocate devices"}`,
		`{"pod":"a/other","schedulerName":"s","result":"ignored"}`,
	}
	answers := []string{
		`{"pod":"a/slow","schedulerName":"s","result":"scheduled","node":"n"}`,
		`{"pod":"a/other","schedulerName":"s","result":"error","message":"node n: timed out trying to allocate devices"}`,
	}
	found, timedOut := withoutTimeouts(compareRecords(1, records, answers, ""), records)
	if len(found) != 1 || found[0].example.pod != "a/other" || len(timedOut) != 1 || timedOut[0] != "a/slow" {
		t.Errorf("got %v and %v", found, timedOut)
	}
}
