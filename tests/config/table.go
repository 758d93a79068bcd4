package main

import "fmt"

// The files, by topic.
func table() []row {
	var rows []row
	for _, family := range [][]row{
		documents(), scalars(), fields(), values(), elections(), profiles(), pluginSets(), pluginArgs(), argMistakes(), extenders(),
	} {
		rows = append(rows, family...)
	}
	return rows
}

func documents() []row {
	return []row{
		{name: "nothing but the head", text: ""},
		{name: "empty file", raw: true},
		{name: "a comment only", raw: true, text: "# nothing\n"},
		{name: "no kind", raw: true, text: "apiVersion: kubescheduler.config.k8s.io/v1\n"},
		{name: "no version", raw: true, text: "kind: KubeSchedulerConfiguration\n"},
		{name: "another kind", raw: true, text: "kind: Pod\napiVersion: v1\n"},
		{name: "a version to come", raw: true, text: "kind: KubeSchedulerConfiguration\napiVersion: kubescheduler.config.k8s.io/v2\n"},
		{name: "the kind of arguments", raw: true, text: "kind: VolumeBindingArgs\napiVersion: kubescheduler.config.k8s.io/v1\n"},
		{name: "kind is a number", raw: true, text: "kind: 5\napiVersion: kubescheduler.config.k8s.io/v1\n"},
		{name: "a number", raw: true, text: "5\n"},
		{name: "a list", raw: true, text: "[a]\n"},
		{name: "a word", raw: true, text: "hello\n"},
		{name: "JSON", raw: true, text: `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","parallelism":3,
"clientConnection":{"kubeconfig":"KUBECONFIG"}}`},
		{name: "JSON with a member twice", raw: true, text: `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
"parallelism":3,"parallelism":4,"zz":1,"aa":2}`},
		{name: "JSON with a member twice, deep", raw: true, text: `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration",
"profiles":[{"schedulerName":"a","schedulerName":"b"}]}`},
		{name: "JSON cut short", raw: true, text: `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration"`},
		{name: "JSON with a fraction", raw: true, text: `{"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"KubeSchedulerConfiguration","parallelism":3.0}`},
		{name: "broken YAML", text: "parallelism: [\n", differs: "each YAML parser has its own words"},
		{name: "a tab", text: "leaderElection:\n\tleaderElect: true\n", differs: "each YAML parser has its own words"},
		{name: "a key twice", text: "parallelism: 1\nparallelism: 2\n"},
		{name: "a key twice and unknown fields", text: "zz: 1\naa: 2\nparallelism: 1\nparallelism: 2\n"},
		{name: "a key twice, deep", text: "profiles: [{schedulerName: a, schedulerName: b}]\n"},
		{name: "two keys twice", text: "parallelism: 1\nparallelism: 2\npodMaxBackoffSeconds: 10\npodMaxBackoffSeconds: 11\n"},
		{name: "an anchor", text: "podInitialBackoffSeconds: &two 2\npodMaxBackoffSeconds: *two\n"},
		{name: "a merge key after", text: "profiles:\n- &a {percentageOfNodesToScore: 7}\n- {schedulerName: b, <<: *a}\n"},
		{name: "merged maps", text: "profiles:\n- &a {schedulerName: a}\n- &b {percentageOfNodesToScore: 8}\n- {<<: [*b], schedulerName: c}\n"},
		{name: "a section twice", text: "profiles:\n- schedulerName: a\nprofiles:\n- schedulerName: b\n"},
		{name: "a merge key", text: "profiles:\n- &a {schedulerName: a, percentageOfNodesToScore: 7}\n- {<<: *a, schedulerName: b}\n"},
		{name: "a document marker", raw: true, text: "---\n" + head + "parallelism: 2\nclientConnection: {kubeconfig: KUBECONFIG}\n"},
	}
}

func scalars() []row {
	var rows []row
	for _, boolean := range []string{"yes", "No", "on", "OFF", "y", "N", "true", "False", "~", "'true'", "1", "maybe"} {
		rows = append(rows, row{name: "boolean " + boolean, text: "enableProfiling: " + boolean + "\n"})
	}
	for _, number := range []string{"0x10", "017", "0o17", "0b101", "1_0", "+5", "3.0", "1e1", "1.5", "2147483648", "'5'", "null", ".5", "1e400", ".inf", "-.Inf", ".nan", "0x", "08", "1__0", "_1", "18446744073709551615", "99999999999999999999", "1e21", "-0", "5 ", "12:30"} {
		rows = append(rows, row{name: "number " + number, text: "parallelism: " + number + "\n"})
	}
	for _, text := range []string{"yes", "5", "0.5", "2001-01-01", "null", "~", "''", "'5'", "a b", "'a: b'", "a:b", "'#a'", "'-'", "'- a'", "'@a'", "'1:30'",
		"'yes'", "'0x10'", "' a'", "'it''s'", "'*'", "'a #b'", "'1e3'", "'.inf'", `"tab\tx"`, `"two\nlines"`, "ä", "'!a'", "'%'", "'<<'", "1_000"} {
		rows = append(rows, row{name: "name " + text, text: "profiles: [{schedulerName: " + text + "}]\n"})
	}
	return rows
}

func fields() []row {
	return []row{
		{name: "every field", text: `parallelism: 4
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
enableProfiling: false
enableContentionProfiling: true
delayCacheUntilActive: true
leaderElection: {leaderElect: false, leaseDuration: 20s, renewDeadline: 15s, retryPeriod: 1500ms, resourceLock: leases, resourceName: a, resourceNamespace: b}
clientConnection: {kubeconfig: KUBECONFIG, acceptContentTypes: "a/b", contentType: application/json, qps: 12.5, burst: 7}
`},
		{name: "profiling off", text: "enableProfiling: false\n"},
		{name: "limits of zero", text: "clientConnection: {kubeconfig: KUBECONFIG, qps: 0, burst: 0, contentType: ''}\n"},
		{name: "a tiny qps", text: "clientConnection: {kubeconfig: KUBECONFIG, qps: 0.1}\n"},
		{name: "no limit", text: "clientConnection: {kubeconfig: KUBECONFIG, qps: -1}\n"},
		{name: "nulls", text: "parallelism:\nprofiles:\nextenders:\nleaderElection:\n"},
		{name: "an unknown field", text: "foo: 1\n"},
		{name: "wrong case", text: "Parallelism: 1\n"},
		{name: "unknown fields everywhere", text: "zz: 1\nprofiles: [{schedulerNam: x, bar: 1, plugins: {filters: {}, filter: {enable: []}}}]\nleaderElection: {x: 1}\nclientConnection: {y: 1}\n"},
		{name: "metadata", text: "metadata: {name: x}\n"},
		{name: "a field of v1beta2", text: "healthzBindAddress: ''\n"},
		{name: "a field of v1alpha1", text: "schedulerName: x\n"},
		{name: "a list for a map", text: "leaderElection: []\n"},
		{name: "a map for a list", text: "profiles: {}\n"},
		{name: "a number for a profile", text: "profiles: [5]\n"},
		{name: "a text for plugins", text: "profiles: [{plugins: x}]\n"},
		{name: "a number for a set", text: "profiles: [{plugins: {filter: 7}}]\n"},
		{name: "a number for a plugin", text: "profiles: [{plugins: {filter: {enabled: [5]}}}]\n"},
		{name: "a number for a name", text: "profiles: [{plugins: {filter: {enabled: [{name: 5}]}}}]\n"},
		{name: "a text for a weight", text: "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: x}]}}}]\n"},
		{name: "a text for a number and an unknown field", text: "parallelism: many\nfoo: 1\n"},
		{name: "two wrong types", text: "podMaxBackoffSeconds: many\nparallelism: many\n"},
		{name: "a bool for a text", text: "clientConnection: {kubeconfig: true}\n"},
		{name: "a list for pluginConfig's member", text: "profiles: [{pluginConfig: [[]]}]\n"},
		{name: "a qps beyond float32", text: "clientConnection: {kubeconfig: KUBECONFIG, qps: 1e39}\n"},
		{name: "a text for qps", text: "clientConnection: {kubeconfig: KUBECONFIG, qps: x}\n"},
	}
}

func values() []row {
	return []row{
		{name: "parallelism 0", text: "parallelism: 0\n"},
		{name: "parallelism -1", text: "parallelism: -1\n"},
		{name: "percentage -1", text: "percentageOfNodesToScore: -1\n"},
		{name: "percentage 101", text: "percentageOfNodesToScore: 101\n"},
		{name: "percentage of a profile", text: "profiles: [{percentageOfNodesToScore: 101}]\n"},
		{name: "percentage 0 of a profile", text: "profiles: [{percentageOfNodesToScore: 0}]\n"},
		{name: "initial back-off 0", text: "podInitialBackoffSeconds: 0\n"},
		{name: "back-offs crossed", text: "podInitialBackoffSeconds: 5\npodMaxBackoffSeconds: 4\n"},
		{name: "initial above the default maximum", text: "podInitialBackoffSeconds: 11\n"},
		{name: "burst -1", text: "clientConnection: {kubeconfig: KUBECONFIG, burst: -1}\n"},
		{name: "several together", text: "parallelism: -1\npercentageOfNodesToScore: 200\nprofiles: [{schedulerName: a}, {}]\npodMaxBackoffSeconds: 0\n"},
		{name: "the same twice", text: "profiles: [{}, {}]\n"},
	}
}

func elections() []row {
	var rows []row
	for _, fields := range []string{
		"leaseDuration: 15", "leaseDuration: 15x", "leaseDuration: ''", "leaseDuration: abc", "leaseDuration: '15'", "leaseDuration: 0s", "leaseDuration: -1s",
		"leaseDuration: 5s", "renewDeadline: 20s", "retryPeriod: -1s", "leaseDuration: 1h2m3.5s", "retryPeriod: 1us", "retryPeriod: 1µs", "resourceLock: endpoints",
		"resourceLock: endpoints, leaderElect: false", "resourceName: ''", "leaderElect: 'true'", "leaseDuration: 1s1", "leaseDuration: -15s, renewDeadline: -20s",
	} {
		rows = append(rows, row{name: "election " + fields, text: "leaderElection: {" + fields + "}\n"})
	}
	return rows
}

func profiles() []row {
	return []row{
		{name: "one without a name", text: "profiles: [{percentageOfNodesToScore: 5}]\n"},
		{name: "an empty name", text: "profiles: [{schedulerName: ''}]\n"},
		{name: "two, one without a name", text: "profiles: [{schedulerName: a}, {}]\n"},
		{name: "a name twice", text: "profiles: [{schedulerName: a}, {schedulerName: b}, {schedulerName: a}]\n"},
		{name: "two profiles", text: "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {score: {disabled: [{name: '*'}]}}}]\n"},
		{name: "no profiles", text: "profiles: []\n"},
		{name: "two queue sorts", text: "profiles: [{plugins: {queueSort: {enabled: [{name: A}, {name: B}]}}}]\n"},
		{name: "different queue sorts", text: "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}], disabled: [{name: '*'}]}}}]\n"},
		{name: "different arguments of the queue sort", text: "profiles: [{schedulerName: a, plugins: {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, args: {x: 1}}]}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: A}]}}, pluginConfig: [{name: A, args: {x: 2}}]}]\n"},
		{name: "no queue sort", text: "profiles: [{plugins: {queueSort: {disabled: [{name: PrioritySort}]}}}]\n"},
		{name: "no bind plugin", text: "profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]\n"},
		{name: "nothing but what is needed", text: "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}}}]\n"},
		{name: "nothing at all", text: "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}]}}}]\n"},
	}
}

func pluginSets() []row {
	rows := []row{
		{name: "disabled and named again", text: "profiles: [{plugins: {multiPoint: {disabled: [{name: PrioritySort}], enabled: [{name: PrioritySort, weight: 7}]}}}]\n"},
		{name: "a default with another weight", text: "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 7}]}}}]\n"},
		{name: "a default named twice", text: "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 7}, {name: NodeAffinity}]}}}]\n"},
		{name: "an unknown plugin", text: "profiles: [{plugins: {filter: {enabled: [{name: Foo}]}}}]\n"},
		{name: "an unknown plugin for all points", text: "profiles: [{plugins: {multiPoint: {enabled: [{name: Foo}]}}}]\n"},
		{name: "an unknown plugin disabled", text: "profiles: [{plugins: {filter: {disabled: [{name: Foo, weight: 5}]}}}]\n"},
		{name: "listed twice", text: "profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}}]\n"},
		{name: "at a point it does not have", text: "profiles: [{plugins: {score: {enabled: [{name: NodeName}]}}}]\n"},
		{name: "a slip of the pen", text: "profiles: [{plugins: {score: {enabled: [{name: NodeResourceFit}]}}}]\n"},
		{name: "all scorers off", text: "profiles: [{plugins: {score: {disabled: [{name: '*'}]}}}]\n"},
		{name: "one scorer", text: "profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit, weight: 3}]}}}]\n"},
		{name: "removed, at a point", text: "profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: EBSLimits}]}}}]\n"},
		{name: "removed, at all points", text: "profiles: [{plugins: {multiPoint: {enabled: [{name: EBSLimits}]}}}]\n"},
		{name: "removed, in pluginConfig", text: "profiles: [{pluginConfig: [{name: GCEPDLimits, args: {a: 1}}]}]\n"},
		{name: "removed before", text: "profiles: [{plugins: {score: {enabled: [{name: SelectorSpread}]}}}]\n"},
		{name: "weight 0", text: "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 0}]}}}]\n"},
		{name: "a name missing", text: "profiles: [{plugins: {score: {enabled: [{weight: 3}]}}}]\n"},
		{name: "empty sets", text: "profiles: [{plugins: {score: {}, filter: {enabled: [], disabled: []}}}]\n"},
		{name: "a negative weight", text: "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: -1}]}}}]\n"},
		{name: "a negative weight alone", text: "profiles: [{plugins: {score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity, weight: -1}]}, multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}}}]\n"},
		{name: "a huge weight", text: "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 2147483647}]}}}]\n"},
		{name: "a plugin without placements", text: "profiles: [{plugins: {placementScore: {enabled: [{name: NodeName}]}}}]\n"},
		{name: "a plugin that generates no placements", text: "profiles: [{plugins: {placementGenerate: {enabled: [{name: NodeName}]}}}]\n"},
		{name: "a plugin without pod groups", text: "profiles: [{plugins: {podGroupPostFilter: {enabled: [{name: NodeName}]}}}]\n"},
		{name: "a plugin with pod groups", text: "profiles: [{plugins: {podGroupPostFilter: {enabled: [{name: DefaultPreemption}]}}}]\n"},
		{name: "disabled for pod groups", text: "profiles: [{plugins: {podGroupPostFilter: {disabled: [{name: '*'}]}}}]\n"},
		{name: "two binders", text: "profiles: [{plugins: {bind: {enabled: [{name: DefaultBinder}]}}}]\n"},
		{name: "disabled twice", text: "profiles: [{plugins: {score: {disabled: [{name: NodeAffinity}, {name: NodeAffinity}, {}]}}}]\n"},
		{name: "pod groups", gates: "GenericWorkload=true", text: ""},
	}
	for _, point := range []string{"preEnqueue", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind", "postBind", "multiPoint"} {
		rows = append(rows,
			row{name: "a default disabled at " + point, text: fmt.Sprintf("profiles: [{plugins: {%s: {disabled: [{name: DynamicResources}]}}}]\n", point)},
			row{name: "an unknown plugin at " + point, text: fmt.Sprintf("profiles: [{plugins: {%s: {enabled: [{name: Foo}]}}}]\n", point)})
	}
	return rows
}

func config(plugin, args string) string {
	return "profiles: [{pluginConfig: [{name: " + plugin + ", args: " + args + "}]}]\n"
}

func pluginArgs() []row {
	var rows []row
	for _, valid := range []struct{ plugin, args string }{
		{"DefaultPreemption", "{minCandidateNodesPercentage: 5}"},
		{"DefaultPreemption", "{kind: DefaultPreemptionArgs, apiVersion: kubescheduler.config.k8s.io/v1, minCandidateNodesAbsolute: 0}"},
		{"DefaultPreemption", "null"},
		{"InterPodAffinity", "{hardPodAffinityWeight: 0, ignorePreferredTermsOfExistingPods: true}"},
		{"NodeAffinity", "{}"},
		{"NodeAffinity", "{addedAffinity: {}}"},
		{"NodeAffinity", "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b, c]}]}]}}}"},
		{"NodeAffinity", "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 3, preference: {matchFields: [{key: metadata.name, operator: In, values: [n]}]}}]}}"},
		{"NodeResourcesBalancedAllocation", "{resources: [{name: cpu}, {name: nvidia.com/gpu, weight: 1}]}"},
		{"NodeResourcesFit", "{ignoredResources: [example.com/a], ignoredResourceGroups: [example.com]}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 5}, {name: memory}]}}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: LeastAllocated}}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}"},
		{"PodTopologySpread", "{defaultingType: List}"},
		{"PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 2, nodeTaintsPolicy: Honor, matchLabelKeys: [a]}]}"},
		{"VolumeBinding", "{bindTimeoutSeconds: 0}"},
		{"VolumeBinding", "{shape: [{utilization: 0, score: 0}, {utilization: 50, score: 5}]}"},
		{"DynamicResources", "{filterTimeout: 0s, bindingTimeout: 90s}"},
		{"Unlisted", "{a: 1, b: [x, {c: 2}]}"},
	} {
		rows = append(rows, row{name: "args " + valid.plugin + " " + valid.args, text: config(valid.plugin, valid.args)})
	}
	return append(rows,
		row{name: "pluginConfig without args", text: "profiles: [{pluginConfig: [{name: VolumeBinding}, {name: Unlisted}]}]\n"},
		row{name: "args of a plugin that is off", text: "profiles: [{plugins: {multiPoint: {disabled: [{name: VolumeBinding}]}}, pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: 5}}]}]\n"},
		row{name: "args of a plugin that is off are checked", text: "profiles: [{plugins: {multiPoint: {disabled: [{name: VolumeBinding}]}}, pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -5}}]}]\n"},
		row{name: "pluginConfig twice", text: "profiles: [{pluginConfig: [{name: VolumeBinding}, {name: VolumeBinding}]}]\n"},
		row{name: "pluginConfig without a name", text: "profiles: [{pluginConfig: [{args: {a: 1}}]}]\n"},
		row{name: "gates off", gates: "StorageCapacityScoring=false,DRASchedulerFilterTimeout=false", text: ""},
		row{name: "shape without its gate", gates: "StorageCapacityScoring=false", text: config("VolumeBinding", "{shape: [{utilization: 0, score: 0}]}")},
		row{name: "timeout without its gate", gates: "DRASchedulerFilterTimeout=false", text: config("DynamicResources", "{filterTimeout: 1s}")},
	)
}

func argMistakes() []row {
	var rows []row
	for _, wrong := range []struct{ plugin, args string }{
		{"DefaultPreemption", "{minCandidateNodesPercentage: 101}"},
		{"DefaultPreemption", "{minCandidateNodesPercentage: -1, minCandidateNodesAbsolute: -1}"},
		{"DefaultPreemption", "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}"},
		{"InterPodAffinity", "{hardPodAffinityWeight: 101}"},
		{"InterPodAffinity", "{hardPodAffinityWeight: x}"},
		{"NodeAffinity", "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Foo}]}]}}}"},
		{"NodeAffinity", "{addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: 'a b', operator: In}]}]}}}"},
		{"NodeAffinity", "{addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Gt, values: [x]}]}}]}}"},
		{"NodeAffinity", "{addedAffinity: {foo: 1}}"},
		{"NodeResourcesBalancedAllocation", "{resources: [{name: cpu, weight: 2}, {name: cpu}]}"},
		{"NodeResourcesFit", "{ignoredResources: [a/b/c]}"},
		{"NodeResourcesFit", "{ignoredResourceGroups: [a/b]}"},
		{"NodeResourcesFit", "{ignoredResources: ['']}"},
		{"NodeResourcesFit", "{ignoredResources: [5]}"},
		{"PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: '/', whenUnsatisfiable: ScheduleAnyway}]}"},
		{"NodeResourcesFit", "{scoringStrategy: {}}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: Foo, resources: [{name: cpu, weight: 101}]}}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio}}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {}}}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: []}}}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: [{utilization: 50, score: 11}, {utilization: 50, score: -1}, {utilization: 101}]}}}"},
		{"NodeResourcesFit", "{scoringStrategy: {type: 5}}"},
		{"NodeResourcesFit", "{scoringStrategy: []}"},
		{"PodTopologySpread", "{defaultingType: Foo}"},
		{"PodTopologySpread", "{defaultConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}"},
		{"PodTopologySpread", "{defaultingType: List, defaultConstraints: [{}]}"},
		{"PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: 'a b', whenUnsatisfiable: Foo, labelSelector: {}}]}"},
		{"PodTopologySpread", "{defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}, {maxSkew: 2, topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]}"},
		{"VolumeBinding", "{bindTimeoutSeconds: -1}"},
		{"VolumeBinding", "{shape: [{utilization: 0, score: 11}]}"},
		{"VolumeBinding", "{shape: [5]}"},
		{"VolumeBinding", "{foo: 1, bindTimeoutSeconds: 5, bar: 2}"},
		{"VolumeBinding", "5"},
		{"VolumeBinding", "text"},
		{"VolumeBinding", "[]"},
		{"VolumeBinding", "{kind: NodeAffinityArgs, apiVersion: kubescheduler.config.k8s.io/v1}"},
		{"VolumeBinding", "{kind: NodeAffinityArgs}"},
		{"VolumeBinding", "{kind: Foo}"},
		{"VolumeBinding", "{apiVersion: kubescheduler.config.k8s.io/v1beta3}"},
		{"VolumeBinding", "{kind: VolumeBindingArgs, apiVersion: kubescheduler.config.k8s.io/v1beta3}"},
		{"DynamicResources", "{filterTimeout: -1s, bindingTimeout: 999ms}"},
		{"DynamicResources", "{filterTimeout: 5}"},
		{"DynamicResources", "{bindingTimeout: 5x}"},
	} {
		rows = append(rows, row{name: "wrong " + wrong.plugin + " " + wrong.args, text: config(wrong.plugin, wrong.args)})
	}
	return append(rows,
		row{name: "unknown fields in args and outside", text: "zz: 1\nprofiles: [{pluginConfig: [{name: VolumeBinding, args: {foo: 1}}, {name: NodeAffinity, args: {bar: 1}}]}]\n"},
		row{name: "wrong values in args and outside", text: "parallelism: -1\nprofiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -1}}, {name: NodeResourcesFit, args: {ignoredResources: [a/b/c]}}]}]\n"},
	)
}

func extenders() []row {
	var rows []row
	for _, list := range []string{
		"{urlPrefix: 'http://x'}",
		"{urlPrefix: 'http://x', filterVerb: f, preemptVerb: p, prioritizeVerb: s, bindVerb: b, weight: 3, enableHTTPS: true, httpTimeout: 200ms, nodeCacheCapable: true, ignorable: true}",
		"{urlPrefix: 'http://x', tlsConfig: {insecure: true, serverName: s}}",
		"{urlPrefix: 'http://x', filterVerb: f, managedResources: [{name: example.com/a, ignoredByScheduler: true}, {name: example.com/b}]}",
		"{}",
		"{urlPrefix: 'http://x', enableHttps: true}",
		"{urlPrefix: 'http://x', httpTimeout: 5}",
		"{urlPrefix: 'http://x', httpTimeout: 5y}",
		"{urlPrefix: 'http://x', prioritizeVerb: p}",
		"{urlPrefix: 'http://x', prioritizeVerb: p, weight: -1}",
		"{urlPrefix: 'http://x', bindVerb: b}, {urlPrefix: 'http://y', bindVerb: b}",
		"{urlPrefix: 'http://x', managedResources: [{name: cpu}]}",
		"{urlPrefix: 'http://x', managedResources: [{name: kubernetes.io/x}, {name: requests.a/b}, {name: 'a b/c'}, {}]}",
		"{urlPrefix: 'http://x', managedResources: [{name: a.b/c}]}, {urlPrefix: 'http://y', managedResources: [{name: a.b/c}]}",
		"{urlPrefix: 5}",
		"5",
		"{urlPrefix: 'http://x', tlsConfig: []}",
		"{urlPrefix: 'http://x', managedResources: [x]}",
	} {
		rows = append(rows, row{name: "extenders " + list, text: "extenders: [" + list + "]\n"})
	}
	return append(rows,
		row{name: "a managed resource and no NodeResourcesFit", text: "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]\nextenders: [{urlPrefix: 'http://x', filterVerb: f, managedResources: [{name: a.b/c, ignoredByScheduler: true}]}]\n"},
		row{name: "managed resources and args", text: "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [d.e/f]}}]}]\nextenders: [{urlPrefix: 'http://x', filterVerb: f, managedResources: [{name: b.b/c, ignoredByScheduler: true}, {name: a.b/c, ignoredByScheduler: true}]}]\n"},
	)
}
