package main

import "fmt"

const devices = "devices"

// deviceStock contains the devices and claims of a cluster. Claims are drawn along with the pods that use them.
type deviceStock struct {
	objects array
	// all are the devices of all slices, for claims that are allocated already.
	all []drawnDevice
	// claims are the names of claims by namespace, for pods that share them.
	claims map[string][]string
	count  int
}

type drawnDevice struct {
	driver, pool, name, node string
	shared                   bool
}

var deviceModels = []string{"a100", "h100", "l4"}

// Selectors. Some of them are errors for some or all devices.
var deviceSelectors = []string{
	`device.driver == "gpu.example.com"`,
	`device.driver.endsWith(".example.com")`,
	`device.attributes["gpu.example.com"].model == "a100"`,
	`device.attributes["gpu.example.com"].model in ["h100", "l4"]`,
	`"model" in device.attributes["gpu.example.com"] && device.attributes["gpu.example.com"].model.startsWith("h")`,
	`device.attributes["gpu.example.com"].numa < 2`,
	`device.attributes["gpu.example.com"].?numa.orValue(7) == 0`,
	`has(device.attributes["gpu.example.com"].ecc) ? device.attributes["gpu.example.com"].ecc : false`,
	`device.attributes["gpu.example.com"].driverVersion.compareTo(semver("2.1.0")) >= 0`,
	`device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0`,
	`device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("10Gi")) && device.driver != "x"`,
	`cel.bind(gpu, device.attributes["gpu.example.com"], gpu.?model.orValue("") != "l4")`,
	`device.allowMultipleAllocations`,
	`!device.allowMultipleAllocations`,
	`device.attributes["net.example.com"].size() > 0`,
	`[1, 2, 3].exists(n, n == device.attributes["gpu.example.com"].?numa.orValue(1))`,
}

var wrongSelectors = []string{`device.driver == 1`, `device.nothing`, `1 + `, `device.attributes["gpu.example.com"].none == 1`}

// deviceObjects draws classes, slices and taint rules. Claims that are allocated already refer to the devices.
func (g *generator) deviceObjects() {
	class := func(name string, spec object) {
		metadata := object{"name": name}
		if created := pick(g.rng, "", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"); created != "" {
			metadata["creationTimestamp"] = created
		}
		g.stock.objects = append(g.stock.objects, object{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
			"metadata": metadata, "spec": spec})
	}
	class("any", g.provides(object{}, "example.com/foo"))
	class("gpu", g.provides(object{"selectors": array{celSelector(`device.driver == "gpu.example.com"`)},
		"config": array{object{"opaque": object{"driver": "gpu.example.com", "parameters": object{"mode": "exclusive"}}}}}, gpuResource))
	class("large", g.provides(object{"selectors": array{celSelector(`device.driver == "gpu.example.com"`),
		celSelector(pick(g.rng, "", `"memory" in device.capacity["gpu.example.com"] && `) +
			`device.capacity["gpu.example.com"].memory.compareTo(quantity("20Gi")) > 0`)}}, gpuResource, largeResource, largeResource))
	class("net", g.provides(object{"selectors": array{celSelector(`device.driver == "net.example.com"`)}}, "devices.example.com/net"))
	if g.chance(0.7) {
		class("class-a", object{})
	}
	if g.chance(0.1) {
		class("wrong", g.provides(object{"selectors": array{celSelector(pick(g.rng, wrongSelectors...))}}, "devices.example.com/wrong"))
	}
	for _, node := range g.nodeNames {
		if g.chance(0.8) {
			g.nodeDevices(node)
		}
	}
	for i := range g.between(0, 2) {
		g.networkDevices(i)
	}
	for i := range g.between(0, 2) {
		if g.chance(0.4) {
			g.taintRule(i)
		}
	}
	for i := range g.between(0, 2*len(g.nodeNames)) {
		g.allocatedClaim(fmt.Sprintf("held-%d", i))
	}
}

func celSelector(expression string) object { return object{"cel": object{"expression": expression}} }

func (g *generator) resourceSlice(name, driver, pool string, generation, count int, where object, devices, counters array) {
	spec := object{"driver": driver, "pool": object{"name": pool, "generation": generation, "resourceSliceCount": count}}
	for _, key := range []string{"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"} {
		if value, ok := where[key]; ok {
			spec[key] = value
		}
	}
	if len(counters) > 0 {
		spec["sharedCounters"] = counters
	} else {
		spec["devices"] = devices
	}
	g.stock.objects = append(g.stock.objects, object{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
		"metadata": object{"name": name}, "spec": spec})
}

// nodeDevices draws one or two pools of a node.
func (g *generator) nodeDevices(node string) {
	where := object{"nodeName": node}
	for p := range pick(g.rng, 1, 1, 1, 2) {
		pool := fmt.Sprintf("%s-pool-%d", node, p)
		generation := g.between(1, 2)
		switch {
		case g.chance(0.2):
			g.partitions(pool, where, node, generation)
			continue
		case g.chance(0.05):
			// A pool that is being published.
			g.resourceSlice(pool+"-a", "gpu.example.com", pool, generation, 2, where, g.gpus(pool, node, "gpu", 2), nil)
			continue
		case g.chance(0.05):
			// Two devices of one name.
			// Equal ones: kube-scheduler's scores remember by name whether a device belongs to a class.
			list := g.gpus(pool, node, "gpu", 2)
			g.resourceSlice(pool+"-a", "gpu.example.com", pool, generation, 2, where, list, nil)
			g.resourceSlice(pool+"-b", "gpu.example.com", pool, generation, 2, where, list[:1], nil)
			continue
		}
		count := pick(g.rng, 1, 1, 2)
		for s := range count {
			g.resourceSlice(fmt.Sprintf("%s-%c", pool, 'b'-s), "gpu.example.com", pool, generation, count, where,
				g.gpus(pool, node, fmt.Sprintf("gpu%d", s), g.between(1, 4)), nil)
		}
		if generation == 2 && g.chance(0.5) {
			g.resourceSlice(pool+"-old", "gpu.example.com", pool, 1, 1, where, g.gpus(pool, node, "old", 2), nil)
		}
		if g.chance(0.05) {
			// A newer generation without a slice on this node so far.
			g.resourceSlice(pool+"-new", "gpu.example.com", pool, 3, 2, object{"nodeName": "elsewhere"}, g.gpus(pool, "elsewhere", "new", 1), nil)
		}
	}
}

func (g *generator) gpus(pool, node, prefix string, count int) array {
	var list array
	for i := range count {
		device := g.device(fmt.Sprintf("%s-%d", prefix, i))
		list = append(list, device)
		g.stock.all = append(g.stock.all, drawnDevice{"gpu.example.com", pool, device["name"].(string), node, device["allowMultipleAllocations"] == true})
	}
	return list
}

func (g *generator) device(name string) object {
	device := object{"name": name}
	attributes := object{}
	if g.chance(0.9) {
		attributes[pick(g.rng, "model", "gpu.example.com/model")] = object{"string": pick(g.rng, deviceModels...)}
	}
	if g.chance(0.8) {
		attributes["numa"] = object{"int": g.between(0, 3)}
	}
	if g.chance(0.3) {
		attributes["ecc"] = object{"bool": g.chance(0.5)}
	}
	if g.chance(0.5) {
		attributes["driverVersion"] = object{"version": pick(g.rng, "1.9.3", "2.1.0", "2.1.0-rc.1", "3.0.0")}
	}
	if len(attributes) > 0 {
		device["attributes"] = attributes
	}
	if g.chance(0.9) {
		memory := object{"value": pick(g.rng, "10Gi", "40Gi", "80Gi", "16000M")}
		if g.chance(0.25) {
			device["allowMultipleAllocations"] = true
		}
		if g.chance(0.5) {
			memory["requestPolicy"] = g.requestPolicy()
		}
		device["capacity"] = object{"memory": memory}
		if g.chance(0.2) {
			device["capacity"].(object)["cores"] = object{"value": pick(g.rng, "8", "100")}
		}
	}
	if g.chance(0.15) {
		device["taints"] = array{object{"key": pick(g.rng, "broken", "reserved"), "value": pick(g.rng, "", "yes"),
			"effect": pick(g.rng, "NoSchedule", "NoExecute", "None")}}
	}
	if g.chance(0.05) {
		device["bindingConditions"] = array{"example.com/attached"}
		device["bindingFailureConditions"] = array{"example.com/failed"}
		device["bindsToNode"] = g.chance(0.5)
	}
	return device
}

func (g *generator) requestPolicy() object {
	switch g.between(0, 2) {
	case 0:
		return object{"default": "2Gi", "validRange": object{"min": "2Gi", "max": "8Gi", "step": "2Gi"}}
	case 1:
		return object{"default": "1Gi", "validValues": array{"1Gi", "4Gi", "8Gi"}}
	default:
		return object{"default": "1Gi"}
	}
}

// partitions draws a device that can be used whole or in parts.
func (g *generator) partitions(pool string, where object, node string, generation int) {
	g.resourceSlice(pool+"-counters", "gpu.example.com", pool, generation, 2, where, nil,
		array{object{"name": "memory-set", "counters": object{"memory": object{"value": "40Gi"}, "engines": object{"value": "4"}}}})
	var list array
	for i, part := range [][2]string{{"40Gi", "4"}, {"20Gi", "2"}, {"20Gi", "2"}, {"10Gi", "1"}, {"10Gi", "1"}}[:g.between(2, 5)] {
		device := g.device(fmt.Sprintf("part-%d", i))
		device["consumesCounters"] = array{object{"counterSet": "memory-set",
			"counters": object{"memory": object{"value": part[0]}, "engines": object{"value": part[1]}}}}
		list = append(list, device)
		g.stock.all = append(g.stock.all, drawnDevice{"gpu.example.com", pool, device["name"].(string), node, device["allowMultipleAllocations"] == true})
	}
	if g.chance(0.05) {
		list[0].(object)["consumesCounters"].(array)[0].(object)["counterSet"] = "missing"
	}
	g.resourceSlice(pool+"-parts", "gpu.example.com", pool, generation, 2, where, list, nil)
}

// networkDevices draws a pool of devices that several nodes can use.
func (g *generator) networkDevices(i int) {
	pool := fmt.Sprintf("fabric-%d", i)
	where := object{}
	var list array
	for d := range g.between(1, 4) {
		name := fmt.Sprintf("port-%d", d)
		list = append(list, object{"name": name, "attributes": object{"speed": object{"int": pick(g.rng, 100, 400)}}})
		g.stock.all = append(g.stock.all, drawnDevice{"net.example.com", pool, name, "", false})
	}
	zone := object{"nodeSelectorTerms": array{object{"matchExpressions": array{
		object{"key": "topology.kubernetes.io/zone", "operator": pick(g.rng, "In", "NotIn"), "values": array{pick(g.rng, "a", "b", "eu-1a")}}}}}}
	switch g.between(0, 2) {
	case 0:
		where["allNodes"] = true
	case 1:
		where["nodeSelector"] = zone
	default:
		where["perDeviceNodeSelection"] = true
		for _, device := range list {
			switch g.between(0, 2) {
			case 0:
				device.(object)["allNodes"] = true
			case 1:
				device.(object)["nodeName"] = g.someNodeName()
			default:
				device.(object)["nodeSelector"] = zone
			}
		}
	}
	g.resourceSlice(pool, "net.example.com", pool, 1, 1, where, list, nil)
}

func (g *generator) taintRule(i int) {
	selector := object{}
	if len(g.stock.all) > 0 {
		device := pick(g.rng, g.stock.all...)
		selector = pick(g.rng, object{}, object{"driver": device.driver}, object{"pool": device.pool},
			object{"driver": device.driver, "pool": device.pool, "device": device.name})
	}
	g.stock.objects = append(g.stock.objects, object{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule",
		"metadata": object{"name": fmt.Sprintf("rule-%d", i)},
		"spec": object{"deviceSelector": selector,
			"taint": object{"key": "rule", "effect": pick(g.rng, "NoSchedule", "NoExecute", "None")}}})
}

// allocatedClaim adds a claim with some of the cluster's devices, or with one that is gone.
func (g *generator) allocatedClaim(name string) {
	if len(g.stock.all) == 0 {
		return
	}
	namespace := pick(g.rng, podNamespaces...)
	var results array
	node := ""
	for range pick(g.rng, 1, 1, 2) {
		device := pick(g.rng, g.stock.all...)
		node = device.node
		result := object{"request": "r", "driver": device.driver, "pool": device.pool, "device": device.name}
		switch {
		case g.chance(0.1):
			result["adminAccess"] = true
		case device.shared && g.chance(0.8):
			result["shareID"] = fmt.Sprintf("6ba7b812-9dad-11d1-80b4-%012d", g.stock.count)
			result["consumedCapacity"] = object{"memory": pick(g.rng, "1Gi", "4Gi", "8Gi")}
		case g.chance(0.05):
			result["device"] = "gone"
		}
		if g.chance(0.1) {
			result["bindingConditions"] = array{"example.com/attached"}
			result["bindingFailureConditions"] = array{"example.com/failed"}
		}
		g.stock.count++
		results = append(results, result)
	}
	allocation := object{"devices": object{"results": results}}
	if node != "" && g.chance(0.9) {
		allocation["nodeSelector"] = object{"nodeSelectorTerms": array{object{"matchFields": array{
			object{"key": "metadata.name", "operator": "In", "values": array{node}}}}}}
	}
	if g.chance(0.5) {
		// Long ago, or long after the test.
		allocation["allocationTimestamp"] = pick(g.rng, "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z")
	}
	status := object{"allocation": allocation}
	if g.chance(0.6) {
		status["reservedFor"] = array{object{"resource": "pods", "name": "other", "uid": "uid-of-other"}}
	}
	if g.chance(0.3) {
		first := results[0].(object)
		status["devices"] = array{object{"driver": first["driver"], "pool": first["pool"], "device": first["device"],
			"conditions": array{object{"type": pick(g.rng, "example.com/attached", "example.com/failed"), "status": pick(g.rng, "True", "False"),
				"reason": "Told", "message": "by the driver", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}}
	}
	g.resourceClaim(namespace, name, object{"requests": array{g.deviceRequest("r")}}, status, nil)
}

func (g *generator) resourceClaim(namespace, name string, devices, status object, owner object) {
	metadata := object{"name": name, "namespace": namespace, "uid": "uid-of-" + namespace + "-" + name}
	if owner != nil {
		metadata["ownerReferences"] = array{owner}
	}
	if g.chance(0.01) {
		metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	}
	claim := object{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": object{"devices": devices}}
	if status != nil {
		claim["status"] = status
	}
	g.stock.objects = append(g.stock.objects, claim)
	if owner == nil {
		g.stock.claims[namespace] = append(g.stock.claims[namespace], name)
	}
}

func (g *generator) deviceRequest(name string) object {
	if g.chance(0.2) {
		var alternatives array
		for i := range g.between(1, 3) {
			devices := g.exactly(false)
			devices["name"] = fmt.Sprintf("alt%d", i)
			alternatives = append(alternatives, devices)
		}
		return object{"name": name, "firstAvailable": alternatives}
	}
	if g.chance(0.01) {
		return object{"name": name}
	}
	return object{"name": name, "exactly": g.exactly(true)}
}

func (g *generator) exactly(admin bool) object {
	request := object{"deviceClassName": pick(g.rng, "any", "gpu", "gpu", "gpu", "gpu", "large", "net")}
	switch roll := g.Float64(); {
	case roll < 0.01:
		request["deviceClassName"] = "missing"
	case roll < 0.02:
		request["deviceClassName"] = "wrong"
	}
	var selectors array
	for g.chance(0.3) {
		selectors = append(selectors, celSelector(pick(g.rng, deviceSelectors...)))
	}
	if g.chance(0.01) {
		selectors = append(selectors, celSelector(pick(g.rng, wrongSelectors...)))
	}
	if len(selectors) > 0 {
		request["selectors"] = selectors
	}
	switch roll := g.Float64(); {
	case roll < 0.1:
		request["allocationMode"] = "All"
	case roll < 0.4:
		request["allocationMode"], request["count"] = "ExactCount", pick(g.rng, 1, 2, 2, 3, 5)
	case roll < 0.42:
		request["count"] = 40
	}
	if admin && g.chance(0.05) {
		request["adminAccess"] = true
	}
	if g.chance(0.2) {
		request["tolerations"] = array{pick(g.rng, object{"operator": "Exists"}, object{"key": "broken", "operator": "Exists"},
			object{"key": "reserved", "operator": "Equal", "value": "yes", "effect": "NoSchedule"})}
	}
	if g.chance(0.2) {
		request["capacity"] = object{"requests": object{pick(g.rng, "memory", "memory", "memory", "cores"): pick(g.rng, "1Gi", "3Gi", "9Gi", "1")}}
	}
	return request
}

// podClaims adds claims to a pod.
func (g *generator) podClaims(metadata, spec, status object) {
	if !g.chance(g.devices) {
		return
	}
	namespace, ok := metadata["namespace"].(string)
	if !ok {
		namespace = "default"
	}
	var references, statuses array
	for i := range pick(g.rng, 1, 1, 1, 2, 3) {
		reference := object{"name": fmt.Sprintf("claim-%d", i)}
		name := fmt.Sprintf("claim-of-%v-%d", metadata["name"], i)
		switch roll := g.Float64(); {
		case roll < 0.15 && len(g.stock.claims[namespace]) > 0:
			reference["resourceClaimName"] = pick(g.rng, g.stock.claims[namespace]...)
		case roll < 0.17:
			reference["resourceClaimName"] = "missing"
		case roll < 0.35:
			reference["resourceClaimTemplateName"] = "template"
			owner := object{"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"], "controller": true}
			if g.chance(0.1) {
				owner["uid"] = "uid-of-another"
			}
			if _, known := metadata["uid"]; !known {
				owner["uid"] = "uid-of-another"
			}
			g.resourceClaim(namespace, name, g.deviceClaim(), nil, owner)
			switch {
			case g.chance(0.05):
			case g.chance(0.05):
				statuses = append(statuses, object{"name": reference["name"]})
			default:
				statuses = append(statuses, object{"name": reference["name"], "resourceClaimName": name})
			}
		default:
			reference["resourceClaimName"] = name
			g.resourceClaim(namespace, name, g.deviceClaim(), nil, nil)
		}
		references = append(references, reference)
	}
	spec["resourceClaims"] = references
	if len(statuses) > 0 {
		status["resourceClaimStatuses"] = statuses
	}
}

// deviceClaim draws spec.devices of a claim.
func (g *generator) deviceClaim() object {
	var requests array
	for i := range pick(g.rng, 1, 1, 1, 1, 2, 2, 3) {
		requests = append(requests, g.deviceRequest(fmt.Sprintf("r%d", i)))
	}
	claim := object{"requests": requests}
	if g.chance(0.25) {
		constraint := object{pick(g.rng, "matchAttribute", "distinctAttribute"): pick(g.rng, "gpu.example.com/model", "gpu.example.com/numa",
			"gpu.example.com/driverVersion", "net.example.com/speed")}
		if g.chance(0.4) {
			constraint["requests"] = array{pick(g.rng, "r0", "r1", "r0/alt0")}
		}
		claim["constraints"] = array{constraint}
	}
	return claim
}
