package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

const nodes = `
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110", example.com/nic: "4"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: c}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110", example.com/nic: "4"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: small}, status: {allocatable: {cpu: 100m, memory: 1Gi, pods: "110"}}}
`

const plainPod = `---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: u-p}, spec: {priority: 10, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}
`

const nicPods = plainPod + `---
{apiVersion: v1, kind: Pod, metadata: {name: nic, namespace: default, uid: u-nic}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1", example.com/nic: "1"}, limits: {example.com/nic: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: init-nic, namespace: default, uid: u-init}, spec: {initContainers: [{name: d, image: i, resources: {requests: {example.com/nic: 9}, limits: {example.com/nic: 9}}}], containers: [{name: c, image: i}]}}
`

const nominatedPod = `---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: u-p}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}, status: {nominatedNodeName: a}}
`

// All nodes are full of pods that may be evicted.
var fullCluster = `---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: u-p}, spec: {priority: 100, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}}
` + runs("low-a", "a", 3) + runs("low-b1", "b", 3) + runs("low-b2", "b", 4) + runs("low-c", "c", 4)

func runs(name, node string, cpu int) string {
	return fmt.Sprintf(`---
{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default, uid: u-%s}, spec: {nodeName: %s, priority: 1, containers: [{name: c, image: i, resources: {requests: {cpu: "%d"}}}]}, status: {phase: Running, startTime: "2026-01-01T00:00:00Z"}}
`, name, name, node, cpu)
}

// An extender of a configuration: additional fields in YAML's flow style, and its replies.
type extender struct {
	members string
	how     reply
	tls     bool
	mutual  bool // the client must send a certificate
}

type testCase struct {
	name      string
	extenders []extender
	profile   string // of the configuration; empty: the default
	pods      string // empty: the plain one
	own       string // berth's text, if it differs from the real one
	expect    string // a part of the record that shows the tested effect
}

func (c testCase) config(servers *servers) string {
	var text strings.Builder
	text.WriteString("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + c.profile + "extenders:\n")
	for _, e := range c.extenders {
		members := e.members
		if e.how != nil {
			url := servers.addSecure(e.how, e.tls, e.mutual)
			if !strings.Contains(members, "urlPrefix") {
				members = fmt.Sprintf("urlPrefix: %q, %s", url, members)
			}
		}
		fmt.Fprintf(&text, "- {%s}\n", servers.fill(members))
	}
	return text.String()
}

const (
	filter     = "filterVerb: filter, nodeCacheCapable: true"
	prioritize = "prioritizeVerb: prioritize, weight: 2, nodeCacheCapable: true"
	preempt    = "preemptVerb: preempt, nodeCacheCapable: true"
)

func one(name, members string, how reply, expect string) testCase {
	return testCase{name: name, extenders: []extender{{members: members, how: how}}, expect: expect}
}

func cases() []testCase {
	var list []testCase
	list = append(list, filterCases()...)
	list = append(list, wireCases()...)
	list = append(list, orderCases()...)
	list = append(list, prioritizeCases()...)
	list = append(list, preemptCases()...)
	list = append(list, secureCases()...)
	return list
}

func filterCases() []testCase {
	list := []testCase{
		one("filter passes all", filter, passes("NodeNames", all), `"result":"scheduled"`),
		one("filter leaves one", filter, passes("NodeNames", func(n string) bool { return n == "c" }), `"bestNodes":["c"]`),
		one("filter drops one without a word", filter, passes("NodeNames", but("b")), "without reason"),
		one("filter drops all without a word", filter, passes("NodeNames", func(string) bool { return false }), "0/4 nodes are available: 1 Insufficient cpu."),
		one("lower case", filter, passes("nodenames", but("b")), "without reason"),
		one("camel case", filter, passes("nodeNames", but("b")), "without reason"),
		one("failed nodes", filter, withBody(`{"NodeNames":["a"],"FailedNodes":{"b":"too hot","c":"<too> & \"cold\""}}`), "too hot"),
		one("all failed", filter, withBody(`{"NodeNames":[],"FailedNodes":{"a":"x","b":"x","c":"y"}}`), "1 y, 2 x. preemption"),
		one("failed and unresolvable", filter, withBody(`{"NodeNames":[],"FailedNodes":{"a":"x","b":"x","c":"y"},"FailedAndUnresolvableNodes":{"a":"never"}}`), "1 never"),
		one("failed with an empty reason", filter, withBody(`{"NodeNames":[],"FailedNodes":{"a":"","b":"x"}}`), ""),
		one("failed node that is unknown", filter, withBody(`{"NodeNames":[],"FailedNodes":{"ghost":"boo"}}`), "1 boo"),
		one("failed node that a plugin rejected", filter, withBody(`{"NodeNames":[],"FailedNodes":{"small":"mine"}}`), "1 mine"),
		one("failed node that passes", filter, withBody(`{"NodeNames":["a","b"],"FailedNodes":{"a":"and yet"}}`), `"result":"scheduled"`),
		one("unknown node", filter, withBody(`{"NodeNames":["a","ghost"]}`), `claims a filtered node`),
		one("node that a plugin rejected", filter, withBody(`{"NodeNames":["a","small"]}`), `claims a filtered node`),
		one("null", filter, withBody("null"), "0/4"),
		one("empty object", filter, withBody("{}"), "0/4"),
		one("names null", filter, withBody(`{"NodeNames":null}`), "0/4"),
		one("nodes although names were requested", filter, withBody(`{"Nodes":{"items":[{"metadata":{"name":"b"}}]}}`), `"bestNodes":["b"]`),
		one("an error of its own", filter, withBody(`{"NodeNames":["a"],"Error":"no idea"}`), `"message":"no idea"`),
		one("a repeated key", filter, withBody(`{"NodeNames":["a"],"nodenames":["b"]}`), `"bestNodes":["b"]`),
		one("maps merge", filter, withBody(`{"FailedNodes":{"a":"x"},"failednodes":{"b":"y"}}`), "1 x, 1 y"),
		one("a null name in a repeated list", filter, withBody(`{"NodeNames":["a","b"],"nodenames":[null]}`), `"bestNodes":["a"]`),
		one("two values", filter, withBody(`{"NodeNames":["a"]} {"NodeNames":["b"]}`), `"bestNodes":["a"]`),
		one("invalid behind", filter, withBody(`{"NodeNames":["a"]}<html>`), `"bestNodes":["a"]`),
		one("escapes", filter, withBody(`{"\u004eodeNames":["\u0061"]}`), `"bestNodes":["a"]`),
		one("the long s", filter, withBody(`{"NodeName`+"\u017f"+`":["a"]}`), `"bestNodes":["a"]`),
		one("unknown members", filter, withBody(`{"nodes":null,"NodeNames":["a"],"more":{"deep":[1,2,{"x":null}]}}`), `"bestNodes":["a"]`),
		one("reason with strange bytes", filter, withBody("{\"FailedNodes\":{\"a\":\"\\ud800 \\ud83d\\ude00 \xff\"}}"), ""),
		one("whole nodes", "filterVerb: filter", withBody(`{"Nodes":{"items":[{"metadata":{"name":"a"}}]},"FailedNodes":{"b":"x"}}`), `"bestNodes":["a"]`),
		one("names although nodes were requested", "filterVerb: filter", withBody(`{"NodeNames":["a"]}`), "0/4"),
		one("whole nodes, none left", "filterVerb: filter", withBody(`{"Nodes":{"items":[]},"FailedNodes":{"b":"x"}}`), "1 x"),
	}
	for i, body := range []string{"", "   ", "<html>", "[]", `"x"`, "7", "true", "{", `{"NodeNames"`, `{"NodeNames":["a"`, `{"NodeNames":["a",]}`,
		`{"NodeNames":["a"] "x":1}`, "nul", "nulx", `{"a":tru}`, `{"a":01}`, `{"a":1.}`, `{"a":1e}`, `{"a":-}`, "{\"a\":\"\n\"}", `{"a":"\q"}`, `{"a":"\u12g4"}`, "\xef\xbb\xbf{}",
		"{'a':1}", `{a:1}`, `{"NodeNames":"a"}`, `{"NodeNames":[1]}`, `{"NodeNames":{}}`, `{"FailedNodes":[]}`, `{"FailedNodes":{"a":1}}`, `{"Error":7}`, `{"Error":{}}`,
		`{"Nodes":[]}`, `{"Nodes":{"items":{}}}`, `{"Nodes":{"items":[7]}}`, `{"Nodes":{"items":[{"metadata":7}]}}`, `{"Nodes":{"items":[{"metadata":{"name":7}}]}}`,
		`{"Error":1,"NodeNames":"x"}`, strings.Repeat("[", 10001)} {
		list = append(list, one(fmt.Sprintf("invalid %d: %.40s", i, body), filter, withBody(body), `"result":"error"`))
	}
	nominated := one("the nominated node passes", filter, passes("NodeNames", all), `"bestNodes":["a"]`)
	refused := one("the nominated node is rejected", filter, withBody(`{"NodeNames":[],"FailedNodes":{"a":"not here"}}`), "not here")
	failing := one("an error at the nominated node", filter, withBody(`{"Error":"broken"}`), "broken")
	for _, c := range []testCase{nominated, refused, failing} {
		c.pods = nominatedPod
		list = append(list, c)
	}
	return list
}

func wireCases() []testCase {
	names := `{"NodeNames":["a","b"]}`
	list := []testCase{
		one("chunked", filter, chunked(names), `"result":"scheduled"`),
		one("slow", filter+", httpTimeout: 2s", late(300*time.Millisecond, withBody(names)), `"result":"scheduled"`),
		one("hanging", filter+", httpTimeout: 200ms", hangs, "Client.Timeout exceeded while awaiting headers"),
		one("hanging in the middle", filter+", httpTimeout: 200ms", hangsAfter(`{"NodeNames":["a"`), "Client.Timeout or context cancellation while reading body"),
		one("hanging behind the end", filter+", httpTimeout: 200ms", hangsAfter(names), `"result":"scheduled"`),
		one("dying before the answer", filter, raw(""), "EOF"),
		one("dying in the middle", filter, raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"NodeNames\":[\"a\""), "unexpected EOF"),
		one("dying in a chunk", filter, raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{\"NodeNames\":[\"a\""), "unexpected EOF"),
		one("dying behind the end", filter, raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"+names), `"result":"scheduled"`),
		one("too short a length", filter, raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"+names), "unexpected EOF"),
		one("no length", filter, raw("HTTP/1.1 200 OK\r\n\r\n"+names), `"result":"scheduled"`),
		one("connection refused", "urlPrefix: \"http://127.0.0.1:1\", "+filter, nil, "connection refused"),
		one("no scheme", "urlPrefix: \"\", "+filter, nil, "unsupported protocol scheme"),
		one("slashes at the end", "urlPrefix: URL0///, "+filter, passes("NodeNames", but("a")), "without reason"),
		one("path and verb with slashes", "urlPrefix: URL0/x, filterVerb: v1/filter, nodeCacheCapable: true", withBody(names), `"result":"scheduled"`),
		{name: "https without an authority", extenders: []extender{{members: filter + ", enableHTTPS: true", how: withBody(names), tls: true}}, expect: `"result":"scheduled"`},
		{name: "https, insecure", extenders: []extender{{members: filter + ", tlsConfig: {insecure: true}", how: withBody(names), tls: true}}, expect: `"result":"scheduled"`},
	}
	for _, status := range []int{201, 204, 400, 404, 500, 503, 304} {
		list = append(list, one(fmt.Sprintf("status %d", status), filter, func(w http.ResponseWriter, _ *http.Request, _ []string) {
			w.WriteHeader(status)
		}, fmt.Sprintf("code %d", status)))
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		list = append(list, one(fmt.Sprintf("redirected by %d", status), filter, redirects(status, "/elsewhere", withBody(names)), `"result":"scheduled"`))
		list = append(list, one(fmt.Sprintf("redirected by %d to nowhere", status), filter, func(w http.ResponseWriter, _ *http.Request, _ []string) {
			w.WriteHeader(status)
		}, fmt.Sprintf("code %d", status)))
	}
	return append(list, one("redirected for ever", filter, func(w http.ResponseWriter, _ *http.Request, _ []string) {
		w.Header().Set("Location", "/again")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}, "stopped after 10 redirects"))
}

func orderCases() []testCase {
	ignorable := filter + ", ignorable: true"
	managed := filter + ", managedResources: [{name: example.com/nic}]"
	return []testCase{
		{name: "one after the other", extenders: []extender{{members: filter, how: passes("NodeNames", but("a"))}, {members: filter, how: passes("NodeNames", but("b"))}}, expect: `"bestNodes":["c"]`},
		{name: "ignorable ones come last", extenders: []extender{{members: ignorable, how: passes("NodeNames", but("a"))}, {members: filter, how: passes("NodeNames", but("b"))}}, expect: `"bestNodes":["c"]`},
		{name: "an ignorable one fails", extenders: []extender{{members: ignorable, how: withStatus(500, "")}, {members: filter, how: passes("NodeNames", but("b"))}}, expect: "extenderErrors"},
		{name: "an ignorable one rejects all", extenders: []extender{{members: ignorable, how: withBody(`{"NodeNames":[],"FailedNodes":{"a":"x"}}`)}}, expect: "1 x"},
		{name: "the second is not called when no node is left", extenders: []extender{{members: filter, how: withBody("{}")}, {members: filter, how: withStatus(500, "")}}, expect: "0/4"},
		{name: "the second gives reasons for nodes that the first dropped", extenders: []extender{{members: filter, how: passes("NodeNames", but("a"))}, {members: filter, how: withBody(`{"FailedNodes":{"a":"late"}}`)}}, expect: "1 late"},
		{name: "two of one URL", extenders: []extender{{members: filter, how: passes("NodeNames", all)}, {members: "urlPrefix: URL0, filterVerb: other, nodeCacheCapable: true"}}, expect: `"result":"scheduled"`},
		{name: "interest", extenders: []extender{{members: managed, how: passes("NodeNames", but("b"))}}, pods: nicPods},
		{name: "resources that only the extender counts", extenders: []extender{{members: filter + ", managedResources: [{name: example.com/nic, ignoredByScheduler: true}]", how: passes("NodeNames", all)}}, pods: nicPods},
		{name: "nothing but a binder", extenders: []extender{{members: "bindVerb: bind, nodeCacheCapable: true", how: withStatus(500, "")}}, expect: `"result":"scheduled"`},
	}
}

func prioritizeCases() []testCase {
	scores := func(text string) reply { return withBody(text) }
	noScores := "profiles: [{schedulerName: default-scheduler, plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: NodeResourcesFit}, {name: DefaultBinder}]}, score: {disabled: [{name: '*'}]}}}]\n"
	list := []testCase{
		one("scores", prioritize, scores(`[{"Host":"a","Score":10},{"Host":"b","Score":1}]`), `"extenders":{"URL0":200}`),
		one("scores in lower case", prioritize, scores(`[{"host":"a","score":10}]`), `"extenders":{"URL0":200}`),
		one("scores beyond ten", prioritize, scores(`[{"Host":"a","Score":1100},{"Host":"b","Score":-30}]`), `"extenders":{"URL0":-600}`),
		one("a host twice", prioritize, scores(`[{"Host":"a","Score":3},{"Host":"a","Score":4}]`), `"extenders":{"URL0":140}`),
		one("an unknown host", prioritize, scores(`[{"Host":"ghost","Score":3}]`), `"extenders":{"URL0":0}`),
		one("overflow", prioritize, scores(`[{"Host":"a","Score":9223372036854775807}]`), "extenders"),
		one("no scores", prioritize, scores("[]"), `"extenders":{"URL0":0}`),
		one("scores null", prioritize, scores("null"), `"extenders":{"URL0":0}`),
		one("a score is missing", prioritize, scores(`[{"Host":"a"},{"Host":"b","Score":null}]`), `"extenders":{"URL0":0}`),
		one("a null among scores", prioritize, scores(`[null,{"Host":"b","Score":5}]`), `"extenders":{"URL0":100}`),
		one("prioritize fails", prioritize, withStatus(500, ""), "extenderErrors"),
		one("prioritize hangs", prioritize+", httpTimeout: 200ms", hangs, "extenderErrors"),
		{name: "two prioritize", extenders: []extender{{members: prioritize, how: scores(`[{"Host":"a","Score":1}]`)}, {members: prioritize, how: scores(`[{"Host":"c","Score":9}]`)}}, expect: `"URL1":180`},
		{name: "filter and prioritize", extenders: []extender{{members: filter + ", prioritizeVerb: prioritize, weight: 1", how: byVerb(map[string]reply{
			"filter": passes("NodeNames", but("b")), "prioritize": scores(`[{"Host":"c","Score":10}]`)})}}, expect: `"URL0":100`},
		{name: "one node is left: no scores", extenders: []extender{{members: filter + ", prioritizeVerb: prioritize, weight: 1", how: byVerb(map[string]reply{
			"filter": withBody(`{"NodeNames":["c"]}`), "prioritize": withStatus(500, "")})}}, expect: `"bestNodes":["c"]`},
		{name: "no other plugin scores", profile: noScores, extenders: []extender{{members: prioritize, how: scores(`[{"Host":"a","Score":0}]`)}}, expect: `"bestNodes":["a"]`},
		{name: "no score at all", profile: noScores, extenders: []extender{{members: filter, how: passes("NodeNames", all)}}, expect: `"total":0`},
	}
	for i, body := range []string{"{}", `[{"Host":"a","Score":7.5}]`, `[{"Host":"a","Score":7.0}]`, `[{"Host":"a","Score":"7"}]`, `[{"Host":1}]`, `[7]`, `[{"Host":"a","Score":1e1}]`,
		`[{"Host":"a","Score":9223372036854775808}]`, `[{"Host":"a","Score":1}`} {
		list = append(list, one(fmt.Sprintf("bad scores %d: %s", i, body), prioritize, withBody(body), "extenderErrors"))
	}
	return list
}

func preemptCases() []testCase {
	victims := func(members, body, expect string) testCase {
		c := one("victims "+body, members, withBody(body), expect)
		c.pods = fullCluster
		return c
	}
	ignorable := preempt + ", ignorable: true"
	return []testCase{
		victims(preempt, `{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u-low-a"}],"NumPDBViolations":0}}}`, `"nomination":{"node":"a"`),
		victims(preempt, `{"nodenametometavictims":{"b":{"pods":[{"uid":"u-low-b1"},{"uid":"u-low-b2"}],"numpdbviolations":0}}}`, `"victims":["default/low-b1","default/low-b2"]`),
		victims(preempt, `{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u-low-a"}],"NumPDBViolations":3},"c":{"Pods":[{"UID":"u-low-c"}],"NumPDBViolations":1}}}`, `"nomination":{"node":"c"`),
		victims(preempt, `{"NodeNameToMetaVictims":{}}`, "no candidate node for preemption"),
		victims(preempt, `{}`, "no candidate node for preemption"),
		victims(preempt, `null`, "no candidate node for preemption"),
		victims(preempt, `{"NodeNameToMetaVictims":{"a":{"Pods":[]}}}`, "expected at least one victim"),
		victims(preempt, `{"NodeNameToMetaVictims":{"ghost":{"Pods":[]}}}`, "nodeinfo not found for node name"),
		victims(preempt, `{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u-low-c"}]}}}`, "is not found on that node"),
		victims(preempt, `{"NodeNameToMetaVictims":[]}`, "cannot unmarshal"),
		victims(preempt, `{"NodeNameToMetaVictims":{"a":7}}`, "cannot unmarshal"),
		victims(preempt, `{"NodeNameToMetaVictims":{"a":{"Pods":7}}}`, "cannot unmarshal"),
		victims(preempt, `{"NodeNameToMetaVictims":{"a":{"Pods":[7]}}}`, "cannot unmarshal"),
		victims(preempt, `{"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":7}]}}}`, "cannot unmarshal"),
		victims(preempt, `{"NodeNameToMetaVictims":{"a":{"NumPDBViolations":"7"}}}`, "cannot unmarshal"),
		victims(ignorable, `{"NodeNameToMetaVictims":{"a":{"Pods":[]},"c":{"Pods":[{"UID":"u-low-c"}]}}}`, `"nomination":{"node":"c"`),
		victims(ignorable, `{"NodeNameToMetaVictims":{"a":{"Pods":[]}}}`, "no candidate node for preemption"),
		victims(ignorable, `rubbish`, "extenderErrors"),
		{name: "an extender's rejection can be helped by preemption, or not", pods: fullCluster, extenders: []extender{{members: preempt, how: withBody(`{"NodeNameToMetaVictims":{"b":{"Pods":[{"UID":"u-low-b1"}],"NumPDBViolations":0}}}`)}}, expect: `"node":"b"`},
	}
}
