package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

const (
	claims         = "/apis/resource.k8s.io/v1/namespaces/t/resourceclaims"
	templates      = "/apis/resource.k8s.io/v1/namespaces/t/resourceclaimtemplates"
	classes        = "/apis/resource.k8s.io/v1/deviceclasses"
	resourceSlices = "/apis/resource.k8s.io/v1/resourceslices"
	rules          = "/apis/resource.k8s.io/v1/devicetaintrules"
)

func claim(name, exactly string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s"},"spec":{"devices":{"requests":[{"name":"r","exactly":{%s}}]}}}`, name, exactly)
}

func claimOf(devices string) string {
	return fmt.Sprintf(`{"metadata":{"name":"bad"},"spec":{"devices":{%s}}}`, devices)
}

func selector(expression string) string {
	quoted, _ := json.Marshal(expression)
	return fmt.Sprintf(`"deviceClassName":"gpu","selectors":[{"cel":{"expression":%s}}]`, quoted)
}

func class(name, spec string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s"},"spec":{%s}}`, name, spec)
}

func slice(name, spec string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s"},"spec":{"driver":"d.example","nodeName":"n1","pool":{"name":"n1","generation":1,"resourceSliceCount":1},%s}}`, name, spec)
}

func device(fields string) string { return slice("bad", `"devices":[{"name":"gpu-0",`+fields+`}]`) }

func manyDevices(count int, fields string) string {
	var devices []string
	for i := range count {
		devices = append(devices, fmt.Sprintf(`{"name":"gpu-%d"%s}`, i, fields))
	}
	return slice("bad", `"devices":[`+strings.Join(devices, ",")+`]`)
}

func taintRule(name, taint string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%s"},"spec":{"deviceSelector":{"driver":"d.example"},"taint":{%s}}}`, name, taint)
}

func policy(text string) string {
	return device(`"allowMultipleAllocations":true,"capacity":{"memory":{"value":"8Gi","requestPolicy":{` + text + `}}}`)
}

const allocation = `"allocation":{"devices":{"results":[{"request":"r","driver":"d.example","pool":"n1","device":"gpu-0"}]}}`

var deviceCases = []request{
	{name: "resources of resource.k8s.io", method: "GET", path: "/apis/resource.k8s.io/v1", without: "resources.*.storageVersionHash"},

	{name: "create a class", method: "POST", path: classes, body: class("gpu", `"selectors":[{"cel":{"expression":"device.driver == \"d.example\""}}],"extendedResourceName":"example.com/gpu"`)},
	{name: "a class with a native resource", method: "POST", path: classes, body: class("bad", `"extendedResourceName":"cpu"`)},
	{name: "a class with a resource of Kubernetes", method: "POST", path: classes, body: class("bad", `"extendedResourceName":"kubernetes.io/gpu"`)},
	{name: "a class with a quota", method: "POST", path: classes, body: class("bad", `"extendedResourceName":"requests.example.com/gpu"`)},
	{name: "a class with an empty selector", method: "POST", path: classes, body: class("bad", `"selectors":[{}]`)},
	{name: "a class whose selector is text", method: "POST", path: classes, body: class("bad", `"selectors":[{"cel":{"expression":"device.driver"}}]`)},
	{name: "another selector", method: "PATCH", path: classes + "/gpu", kind: "merge", body: `{"spec":{"selectors":[{"cel":{"expression":"true"}}]}}`},

	{name: "create a claim", method: "POST", path: claims, body: claim("c", `"deviceClassName":"gpu","tolerations":[{"key":"k"}]`)},
	{name: "a claim for all devices", method: "POST", path: claims, body: claim("all", `"deviceClassName":"gpu","allocationMode":"All"`)},
	{name: "a claim for no devices", method: "POST", path: claims, body: `{"metadata":{"name":"none"},"spec":{}}`},
	{name: "a claim with a selector", method: "POST", path: claims, body: claim("selector", selector(`device.attributes["d.example"].model == "a"`))},
	{name: "a claim with alternatives", method: "POST", path: claims, body: `{"metadata":{"name":"alternatives"},"spec":{"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"a","deviceClassName":"gpu"},{"name":"b","deviceClassName":"gpu","count":2}]}],"constraints":[{"requests":["r/b"],"matchAttribute":"d.example/numa"}],"config":[{"requests":["r"],"opaque":{"driver":"d.example","parameters":{"a":1}}}]}}}`},
	{name: "a request without a kind", method: "POST", path: claims, body: claimOf(`"requests":[{"name":"r"}]`)},
	{name: "a request of two kinds", method: "POST", path: claims, body: claimOf(`"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"},"firstAvailable":[{"name":"a","deviceClassName":"gpu"}]}]`)},
	{name: "a request without a class", method: "POST", path: claims, body: claim("bad", "")},
	{name: "a negative count", method: "POST", path: claims, body: claim("bad", `"deviceClassName":"gpu","count":-1`)},
	{name: "a count of all", method: "POST", path: claims, body: claim("bad", `"deviceClassName":"gpu","allocationMode":"All","count":2`)},
	{name: "an unknown allocation mode", method: "POST", path: claims, body: claim("bad", `"deviceClassName":"gpu","allocationMode":"Some"`)},
	{name: "two requests of one name", method: "POST", path: claims, body: claimOf(`"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}},{"name":"r","exactly":{"deviceClassName":"gpu"}}]`)},
	{name: "too many alternatives", method: "POST", path: claims, body: claimOf(`"requests":[{"name":"r","firstAvailable":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a","deviceClassName":"gpu"},`, 9), ",") + `]}]`)},
	{name: "an expression that does not compile", method: "POST", path: claims, body: claim("bad", selector("device.nope"))},
	{name: "an expression with a syntax error", method: "POST", path: claims, body: claim("bad", selector("device.driver =="))},
	{name: "an expression that is no condition", method: "POST", path: claims, body: claim("bad", selector("1 + 1"))},
	{name: "an empty selector", method: "POST", path: claims, body: claim("bad", `"deviceClassName":"gpu","selectors":[{}]`)},
	{name: "a constraint of an unknown request", method: "POST", path: claims, body: claimOf(`"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}],"constraints":[{"requests":["s"],"matchAttribute":"d.example/numa"}]`)},
	{name: "a constraint without a domain", method: "POST", path: claims, body: claimOf(`"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}],"constraints":[{"matchAttribute":"numa"}]`)},
	{name: "an empty constraint", method: "POST", path: claims, body: claimOf(`"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}],"constraints":[{}]`)},
	{name: "a configuration without parameters", method: "POST", path: claims, body: claimOf(`"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}],"config":[{"opaque":{"driver":"d.example"}}]`)},
	{name: "an unknown toleration", method: "POST", path: claims, body: claim("bad", `"deviceClassName":"gpu","tolerations":[{"key":"k","operator":"Lt"}]`)},
	{name: "a toleration with a needless value", method: "POST", path: claims, body: claim("bad", `"deviceClassName":"gpu","tolerations":[{"key":"k","operator":"Exists","value":"v"}]`)},
	{name: "admin access in an ordinary namespace", method: "POST", path: claims, body: claim("bad", `"deviceClassName":"gpu","adminAccess":true`)},
	{name: "a change of a claim", method: "PATCH", path: claims + "/c", kind: "merge", body: `{"spec":{"devices":{"requests":null}}}`},
	{name: "a label of a claim", method: "PATCH", path: claims + "/c", kind: "merge", body: `{"metadata":{"labels":{"a":"b"}}}`},

	{name: "create a template", method: "POST", path: templates, body: `{"metadata":{"name":"tpl"},"spec":{"metadata":{"labels":{"a":"b"}},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu"}}]}}}}`},
	{name: "a template that does not compile", method: "POST", path: templates, body: `{"metadata":{"name":"bad"},"spec":{"spec":{"devices":{"requests":[{"name":"r","exactly":{` + selector("x") + `}}]}}}}`},
	{name: "a change of a template", method: "PATCH", path: templates + "/tpl", kind: "merge", body: `{"spec":{"spec":{"devices":{"requests":null}}}}`, without: "message,details.causes"},

	{name: "a reservation without allocation", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"u"}]}}`},
	{name: "an allocation for an unknown request", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"status":{"allocation":{"devices":{"results":[{"request":"q","driver":"d.example","pool":"n1","device":"gpu-0"}]}}}}`},
	{name: "an allocation", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"metadata":{"finalizers":["x/y"]},"status":{` + allocation + `,"reservedFor":[{"resource":"pods","name":"p","uid":"u"},{"resource":"pods","name":"q","uid":"v"}]}}`},
	{name: "another allocation", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"status":{"allocation":{"devices":{"results":[{"request":"r","driver":"d.example","pool":"n1","device":"gpu-1"}]}}}}`},
	{name: "a consumer twice", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"u"},{"resource":"pods","name":"q","uid":"u"}]}}`},
	{name: "the status of a device that is not allocated", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"status":{"devices":[{"driver":"d.example","pool":"n1","device":"gpu-7"}]}}`},
	{name: "a consumer without a uid", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"status":{"reservedFor":[{"resource":"pods","name":"p"}]}}`},
	{name: "the release of a consumer", method: "PATCH", path: claims + "/c/status", kind: "smp", body: `{"status":{"reservedFor":[{"$patch":"delete","uid":"u"}]}}`},
	{name: "the status of a device", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"status":{"devices":[{"driver":"d.example","pool":"n1","device":"gpu-0","networkData":{"interfaceName":"eth0"}}]}}`},
	{name: "an allocated claim as a table", method: "GET", path: claims, accept: "table", only: "rows", without: withoutText},
	{name: "a deallocation", method: "PATCH", path: claims + "/c/status", kind: "merge", body: `{"status":{"allocation":null,"reservedFor":null}}`, without: "metadata.managedFields"},

	{name: "create a slice", method: "POST", path: resourceSlices, body: slice("s", `"devices":[{"name":"gpu-0","attributes":{"model":{"string":"a"},"x.example/v":{"version":"1.2.3-rc.1+b"}},"capacity":{"memory":{"value":"81920Mi"}}}]`)},
	{name: "create a slice of counters", method: "POST", path: resourceSlices, body: slice("counters", `"sharedCounters":[{"name":"set","counters":{"memory":{"value":"8Gi"}}}]`)},
	{name: "more devices in a slice", method: "PATCH", path: resourceSlices + "/s", kind: "merge", body: `{"spec":{"devices":[{"name":"a"},{"name":"b"}]}}`},
	{name: "another driver of a slice", method: "PATCH", path: resourceSlices + "/s", kind: "merge", body: `{"spec":{"driver":"e.example"}}`},
	{name: "a version with a leading zero", method: "POST", path: resourceSlices, body: device(`"attributes":{"v":{"version":"1.02.3"}}`)},
	{name: "an attribute with a dash", method: "POST", path: resourceSlices, body: device(`"attributes":{"a-b":{"int":1}}`)},
	{name: "an attribute without a value", method: "POST", path: resourceSlices, body: device(`"attributes":{"a":{}}`)},
	{name: "an attribute with two values", method: "POST", path: resourceSlices, body: device(`"attributes":{"a":{"int":1,"bool":true}}`)},
	{name: "a long attribute", method: "POST", path: resourceSlices, body: device(`"attributes":{"a":{"string":"` + strings.Repeat("x", 65) + `"}}`)},
	{name: "a driver with an underscore", method: "POST", path: resourceSlices, body: `{"metadata":{"name":"bad"},"spec":{"driver":"D_x","allNodes":true,"pool":{"name":"n","generation":1,"resourceSliceCount":1}}}`},
	{name: "a counter set twice", method: "POST", path: resourceSlices, body: slice("bad", `"sharedCounters":[{"name":"set","counters":{"m":{"value":"1"}}},{"name":"set","counters":{"m":{"value":"1"}}}]`)},
	{name: "a counter set without counters", method: "POST", path: resourceSlices, body: slice("bad", `"sharedCounters":[{"name":"set"}]`)},
	{name: "the use of a counter set without a name", method: "POST", path: resourceSlices, body: device(`"consumesCounters":[{"counters":{"m":{"value":"1"}}}]`)},
	{name: "too many devices", method: "POST", path: resourceSlices, body: manyDevices(129, "")},
	{name: "too many tainted devices", method: "POST", path: resourceSlices, body: manyDevices(65, `,"taints":[{"key":"k","effect":"None","timeAdded":"2026-01-01T00:00:00Z"}]`)},
	{name: "two devices of one name", method: "POST", path: resourceSlices, body: slice("bad", `"devices":[{"name":"a"},{"name":"a"}]`)},
	{name: "counters beside devices", method: "POST", path: resourceSlices, body: slice("bad", `"devices":[{"name":"a"}],"sharedCounters":[{"name":"set","counters":{"m":{"value":"1"}}}]`)},
	{name: "a slice without a node", method: "POST", path: resourceSlices, body: `{"metadata":{"name":"bad"},"spec":{"driver":"d.example","pool":{"name":"n","generation":1,"resourceSliceCount":1}}}`},
	{name: "a slice of two kinds of nodes", method: "POST", path: resourceSlices, body: slice("bad", `"allNodes":true`)},
	{name: "an empty pool", method: "POST", path: resourceSlices, body: `{"metadata":{"name":"bad"},"spec":{"driver":"d.example","allNodes":true,"pool":{"name":"n"}}}`},
	{name: "a policy of an exclusive device", method: "POST", path: resourceSlices, body: device(`"capacity":{"memory":{"value":"8Gi","requestPolicy":{"default":"1Gi"}}}`)},
	{name: "a maximum beside the steps", method: "POST", path: resourceSlices, body: policy(`"default":"1Gi","validRange":{"min":"1Gi","max":"8Gi","step":"2Gi"}`)},
	{name: "a default below the minimum", method: "POST", path: resourceSlices, body: policy(`"default":"1Gi","validRange":{"min":"2Gi"}`)},
	{name: "a default that is no option", method: "POST", path: resourceSlices, body: policy(`"default":"3Gi","validValues":["1Gi","2Gi"]`)},
	{name: "binding conditions without failures", method: "POST", path: resourceSlices, body: device(`"bindingConditions":["x.example/ready"]`)},
	{name: "a node of a device", method: "POST", path: resourceSlices, body: device(`"nodeName":"n1"`)},

	{name: "create a taint rule", method: "POST", path: rules, body: taintRule("rule", `"key":"k","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"`)},
	{name: "a taint rule with an unknown effect", method: "POST", path: rules, body: taintRule("bad", `"key":"k","effect":"Never","timeAdded":"2026-01-01T00:00:00Z"`)},
	{name: "another value of a taint", method: "PATCH", path: rules + "/rule", kind: "merge", body: `{"spec":{"taint":{"value":"v"}}}`},
	{name: "the status of a taint rule", method: "PATCH", path: rules + "/rule/status", kind: "merge", body: `{"status":{"conditions":[{"type":"EvictionInProgress","status":"False","reason":"x","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`},

	{name: "a pod without a source of its claim", method: "POST", path: pods, body: pod("bad", `,"resourceClaims":[{"name":"gpu"}]`)},
	{name: "a pod with two sources of its claim", method: "POST", path: pods, body: pod("bad", `,"resourceClaims":[{"name":"gpu","resourceClaimName":"c","resourceClaimTemplateName":"tpl"}]`)},
	{name: "a pod with two claims of one name", method: "POST", path: pods, body: pod("bad", `,"resourceClaims":[{"name":"gpu","resourceClaimName":"c"},{"name":"gpu","resourceClaimName":"c"}]`)},
	{name: "a container with an unknown claim", method: "POST", path: pods, body: `{"metadata":{"name":"bad"},"spec":{"resourceClaims":[{"name":"gpu","resourceClaimName":"c"}],"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"gpus"}]}}]}}`},

	{name: "table of claims", method: "GET", path: claims, accept: "table", only: "columnDefinitions", without: withoutText},
	{name: "table of claim templates", method: "GET", path: templates, accept: "table", only: "columnDefinitions", without: withoutText},
	{name: "table of taint rules", method: "GET", path: rules, accept: "table", only: "columnDefinitions", without: withoutText},
	{name: "slices of a node", method: "GET", path: resourceSlices + "?fieldSelector=spec.nodeName%3Dn1,spec.driver%3Dd.example", only: "items.*.metadata.name"},
	{name: "slices of another node", method: "GET", path: resourceSlices + "?fieldSelector=spec.nodeName%3Dn2", only: "items"},
	{name: "delete a claim", method: "DELETE", path: claims + "/c", without: "metadata.managedFields"},
}
