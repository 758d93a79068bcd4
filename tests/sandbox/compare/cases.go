package main

import "fmt"

const (
	ns         = "/api/v1/namespaces/t"
	pods       = ns + "/pods"
	configMaps = ns + "/configmaps"
	secrets    = ns + "/secrets"
	nodes      = "/api/v1/nodes"
	apps       = "/apis/apps/v1/namespaces/t"
	leases     = "/apis/coordination.k8s.io/v1/namespaces/t/leases"
	budgets    = "/apis/policy/v1/namespaces/t/poddisruptionbudgets"
)

func allCases() []request {
	var all []request
	for _, part := range [][]request{
		creationCases, podCases, updateCases, patchCases, applyCases, bindingCases, deletionCases,
		listCases, tableCases, workloadCases, deviceCases, discoveryCases, negotiationCases, reviewCases,
	} {
		all = append(all, part...)
	}
	return all
}

func pod(name, spec string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s","labels":{"app":"%s"}},"spec":{"containers":[{"name":"c","image":"i"}]%s}}`, name, name, spec)
}

func node(name string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s","labels":{"topology.kubernetes.io/zone":"z1"}},"status":{"capacity":{"cpu":"4","memory":"8Gi","pods":"110"}}}`, name)
}

func configMap(name, data string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s"},"data":{%s}}`, name, data)
}

var creationCases = []request{
	{name: "create a namespace", method: "POST", path: "/api/v1/namespaces", body: `{"metadata":{"name":"t"}}`},
	{name: "create a namespace again", method: "POST", path: "/api/v1/namespaces", body: `{"metadata":{"name":"t"}}`},
	{name: "create a namespace with a bad name", method: "POST", path: "/api/v1/namespaces", body: `{"metadata":{"name":"T_x"}}`},
	{name: "create a node", method: "POST", path: nodes, body: node("n1")},
	{name: "create another node", method: "POST", path: nodes, body: node("n2")},
	{name: "create a config map", method: "POST", path: configMaps, body: configMap("a", `"k":"v"`)},
	{name: "create a config map as YAML", method: "POST", path: configMaps, kind: "yaml", body: "metadata:\n  name: y\ndata:\n  n: \"1\"\n"},
	{name: "create it again", method: "POST", path: configMaps, body: configMap("a", `"k":"v"`)},
	{name: "dry run", method: "POST", path: configMaps + "?dryRun=All", body: configMap("dry", `"k":"v"`)},
	{name: "dry run stores nothing", method: "GET", path: configMaps + "/dry"},
	{name: "dry run of another kind", method: "POST", path: configMaps + "?dryRun=Some", body: configMap("dry", ``)},
	{name: "no name", method: "POST", path: configMaps, body: `{"metadata":{}}`},
	{name: "a generated name", method: "POST", path: configMaps, body: `{"metadata":{"generateName":"generated-"}}`},
	{name: "a bad name", method: "POST", path: configMaps, body: configMap("A_b", ``)},
	// One invalid label at a time: kube-apiserver iterates over a map and reports several in any order.
	{name: "a bad label name", method: "POST", path: configMaps, body: `{"metadata":{"name":"l","labels":{"-x":"y"}}}`},
	{name: "a bad label value", method: "POST", path: configMaps, body: `{"metadata":{"name":"l","labels":{"ok":"-bad-"}}}`},
	{name: "a bad annotation", method: "POST", path: configMaps, body: `{"metadata":{"name":"l","annotations":{"-x":"y"}}}`},
	{name: "a bad key", method: "POST", path: configMaps, body: configMap("k", `"a/b":"v"`)},
	{name: "a finalizer without a domain", method: "POST", path: configMaps, body: `{"metadata":{"name":"f","finalizers":["x y"]}}`},
	{name: "an owner without a uid", method: "POST", path: configMaps, body: `{"metadata":{"name":"o","ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":""}]}}`},
	{name: "the wrong namespace", method: "POST", path: configMaps, body: `{"metadata":{"name":"w","namespace":"default"}}`},
	{name: "an absent namespace", method: "POST", path: "/api/v1/namespaces/nowhere/configmaps", body: configMap("a", ``)},
	{name: "a resource version", method: "POST", path: configMaps, body: `{"metadata":{"name":"rv","resourceVersion":"1"}}`},
	{name: "the wrong kind", method: "POST", path: configMaps, body: `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"}}`},
	{name: "the wrong group", method: "POST", path: configMaps, body: `{"kind":"ConfigMap","apiVersion":"apps/v1","metadata":{"name":"s"}}`},
	{name: "an unknown version", method: "POST", path: configMaps, body: `{"kind":"ConfigMap","apiVersion":"v7","metadata":{"name":"s"}}`},
	{name: "a field of the wrong type", method: "POST", path: configMaps, body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"s"},"data":"x"}`},
	{name: "a list of the wrong type", method: "POST", path: pods, body: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"s"},"spec":{"containers":"x"}}`},
	{name: "a number of the wrong type", method: "POST", path: pods, body: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"s"},"spec":{"priority":"x","containers":[]}}`},
	{name: "a bad quantity", method: "POST", path: pods, body: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"s"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1x"}}}]}}`},
	{name: "a bad time", method: "POST", path: leases, body: `{"metadata":{"name":"s"},"spec":{"renewTime":"2026-01-01"}}`},
	{name: "broken JSON", method: "POST", path: configMaps, body: `{"metadata":`},
	{name: "no object", method: "POST", path: configMaps, body: `[]`},
	{name: "an unknown field, strictly", method: "POST", path: configMaps + "?fieldValidation=Strict", body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"s"},"dataa":{"a":"b"}}`},
	{name: "two unknown fields, strictly", method: "POST", path: pods + "?fieldValidation=Strict", body: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"s"},"spec":{"foo":1,"containers":[{"name":"c","image":"i","bar":2}]}}`},
	{name: "an unknown field, with a warning", method: "POST", path: configMaps + "?fieldValidation=Warn&dryRun=All", body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"s"},"dataa":{"a":"b"}}`},
	{name: "an unknown field, nothing said", method: "POST", path: configMaps + "?dryRun=All", body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"s"},"dataa":{"a":"b"}}`},
	{name: "an unknown field, ignored", method: "POST", path: configMaps + "?fieldValidation=Ignore&dryRun=All", body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"s"},"dataa":{"a":"b"}}`},
	{name: "an unknown validation", method: "POST", path: configMaps + "?fieldValidation=Maybe", body: configMap("s", ``)},
	{name: "a field twice, strictly", method: "POST", path: configMaps + "?fieldValidation=Strict", body: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"s"},"data":{"a":"b"},"data":{"a":"c"}}`},
	{name: "a secret with texts", method: "POST", path: secrets, body: `{"metadata":{"name":"s"},"stringData":{"user":"me"},"data":{"pw":"cHc="}}`},
	{name: "a secret with bad data", method: "POST", path: secrets, body: `{"metadata":{"name":"s2"},"data":{"pw":"%%"}}`},
	{name: "a service account", method: "POST", path: ns + "/serviceaccounts", body: `{"metadata":{"name":"sa"}}`},
	{name: "a lease without duration", method: "POST", path: leases, body: `{"metadata":{"name":"l0"},"spec":{"holderIdentity":"x","leaseDurationSeconds":0}}`},
	{name: "a lease", method: "POST", path: leases, body: `{"metadata":{"name":"l"},"spec":{"holderIdentity":"x","leaseDurationSeconds":15,"renewTime":"2026-01-01T00:00:00.000000Z"}}`},
	{name: "a priority class", method: "POST", path: "/apis/scheduling.k8s.io/v1/priorityclasses", body: `{"metadata":{"name":"high"},"value":1000}`},
	{name: "a priority class that is too high", method: "POST", path: "/apis/scheduling.k8s.io/v1/priorityclasses", body: `{"metadata":{"name":"higher"},"value":2000000000}`},
	{name: "a role", method: "POST", path: "/apis/rbac.authorization.k8s.io/v1/namespaces/t/roles", body: `{"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`},
	{name: "a storage class", method: "POST", path: "/apis/storage.k8s.io/v1/storageclasses", body: `{"metadata":{"name":"sc"},"provisioner":"x.y/z"}`},
	{name: "a claim", method: "POST", path: ns + "/persistentvolumeclaims", body: `{"metadata":{"name":"pvc"},"spec":{"storageClassName":"sc","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`, without: "metadata.finalizers"},
	{name: "a volume", method: "POST", path: "/api/v1/persistentvolumes", body: `{"metadata":{"name":"pv"},"spec":{"storageClassName":"sc","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`, without: "metadata.finalizers,status,status.lastPhaseTransitionTime"},
	{name: "a disruption budget", method: "POST", path: budgets, body: `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"guarded"}}}}`},
	{name: "a service", method: "POST", path: ns + "/services", body: `{"metadata":{"name":"s"},"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}}`, without: "spec.clusterIP,spec.clusterIPs"},
	{name: "an event", method: "POST", path: ns + "/events", body: `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"t","name":"p"},"reason":"R","message":"m","type":"Normal"}`},
	{name: "an event of another namespace", method: "POST", path: ns + "/events", body: `{"metadata":{"name":"e2"},"involvedObject":{"kind":"Pod","namespace":"other","name":"p"},"reason":"R"}`},
	{name: "an event of the new group without a time", method: "POST", path: "/apis/events.k8s.io/v1/namespaces/t/events", body: `{"metadata":{"name":"e3"},"regarding":{"kind":"Pod","namespace":"t","name":"p"},"reason":"R","type":"Foo"}`},
	{name: "an event of the new group", method: "POST", path: "/apis/events.k8s.io/v1/namespaces/t/events", body: `{"metadata":{"name":"e4"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"x.y/z","reportingInstance":"i","action":"A","regarding":{"kind":"Pod","namespace":"t","name":"p"},"reason":"R","type":"Normal","note":"n"}`, without: "metadata.managedFields"},
	{name: "a resource quota", method: "POST", path: ns + "/resourcequotas", body: `{"metadata":{"name":"q"},"spec":{"hard":{"services.loadbalancers":"5"}}}`},
}

var podCases = []request{
	{name: "a pod", method: "POST", path: pods, body: pod("a", "")},
	{name: "a pod with requests", method: "POST", path: pods, body: `{"metadata":{"name":"requests"},"spec":{"containers":[{"name":"c","image":"i:1","ports":[{"containerPort":80}],"resources":{"requests":{"cpu":0.5,"memory":"1024Mi"},"limits":{"cpu":"1000m","memory":"2Gi"}}}]}}`},
	{name: "a pod with limits only", method: "POST", path: pods, body: `{"metadata":{"name":"limits"},"spec":{"containers":[{"name":"c","image":"i:1","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}`},
	{name: "a pod with pod-level limits", method: "POST", path: pods, body: `{"metadata":{"name":"podlevel"},"spec":{"resources":{"limits":{"cpu":"2","memory":"1Gi"}},"containers":[{"name":"c","image":"i:1","resources":{"requests":{"cpu":"500m"}}}]}}`},
	{name: "a gated pod", method: "POST", path: pods, body: pod("gated", `,"schedulingGates":[{"name":"g"}]`)},
	{name: "a pod with a priority class", method: "POST", path: pods, body: pod("high", `,"priorityClassName":"high"`)},
	{name: "a pod with an unknown priority class", method: "POST", path: pods, body: pod("x", `,"priorityClassName":"nope"`)},
	{name: "a pod with its own priority", method: "POST", path: pods, body: pod("x", `,"priority":5`)},
	{name: "a pod with a node", method: "POST", path: pods, body: pod("placed", `,"nodeName":"n1"`)},
	{name: "a pod with tolerations", method: "POST", path: pods, body: pod("tolerant", `,"tolerations":[{"operator":"Exists"}]`)},
	{name: "a pod that spreads", method: "POST", path: pods, body: pod("spread", `,"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"spread"}},"matchLabelKeys":["app2"]}]`)},
	{name: "a pod that spreads badly", method: "POST", path: pods, body: pod("x", `,"topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"","whenUnsatisfiable":"Never"}]`)},
	{name: "a pod with affinity", method: "POST", path: pods, body: pod("affine", `,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"x"}}}]}}`)},
	{name: "no containers", method: "POST", path: pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[]}}`},
	{name: "no spec", method: "POST", path: pods, body: `{"metadata":{"name":"x"}}`},
	{name: "a container without image and name", method: "POST", path: pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{}]}}`},
	{name: "a container with a bad name", method: "POST", path: pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"C_c","image":"i"}]}}`},
	{name: "two containers of one name", method: "POST", path: pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i"},{"name":"c","image":"i"}]}}`},
	{name: "negative requests", method: "POST", path: pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"-1"}}}]}}`},
	{name: "requests above limits", method: "POST", path: pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]}}`},
	{name: "an unknown resource", method: "POST", path: pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"foo":"2"}}}]}}`},
	{name: "a bad restart policy", method: "POST", path: pods, body: pod("x", `,"restartPolicy":"Sometimes"`)},
	{name: "a bad toleration", method: "POST", path: pods, body: pod("x", `,"tolerations":[{"key":"a","operator":"Is","effect":"Never"}]`)},
	{name: "a bad node selector", method: "POST", path: pods, body: pod("x", `,"nodeSelector":{"-a":"b"}`)},
	{name: "a bad port", method: "POST", path: pods, body: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":0}]}]}}`},
	{name: "a long name", method: "POST", path: pods, body: `{"metadata":{"name":"` + long(254) + `"},"spec":{"containers":[{"name":"c","image":"i"}]}}`},
	{name: "get a pod", method: "GET", path: pods + "/a"},
	{name: "get an absent pod", method: "GET", path: pods + "/nope"},
	{name: "get a pod's status", method: "GET", path: pods + "/a/status"},
	{name: "logs of an absent pod", method: "GET", path: pods + "/nope/log"},
	{name: "post to a pod", method: "POST", path: pods + "/a", body: `{}`},
	{name: "an unknown subresource", method: "GET", path: pods + "/a/nope"},
	{name: "an unknown resource", method: "GET", path: ns + "/nopes"},
	{name: "an unknown group", method: "GET", path: "/apis/nope.io/v1/nopes"},
	{name: "an unknown version", method: "GET", path: "/apis/apps/v9/deployments"},
	{name: "an unknown path", method: "GET", path: "/nope"},
}

func long(length int) string {
	name := make([]byte, length)
	for i := range name {
		name[i] = 'a'
	}
	return string(name)
}
