package main

import "fmt"

// sharedClaims are references of the members of a group to claims that they share, and what the status of a member says
// about those that were created from templates.
type sharedClaims struct{ references, statuses array }

// groupDevices draws classes and devices. Some devices are of no class: only drawn allocations have them. kube-scheduler
// forgets the other consumers of a device when a claim that has it is deallocated.
func (g *generator) groupDevices() (items array) {
	add := func(kind, name string, spec object) {
		items = append(items, object{"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": object{"name": name, "resourceVersion": "1"}, "spec": spec})
	}
	for _, driver := range []string{"gpu", "net"} {
		selector := celSelector(fmt.Sprintf(`device.driver == "%s.example.com"`, driver))
		add("DeviceClass", driver, object{"selectors": array{selector}})
	}
	slice := func(driver, pool string, count int, where object) {
		var list array
		for i := range count {
			name := fmt.Sprintf("%s-%d", driver, i)
			list = append(list, object{"name": name, "attributes": object{"model": object{"string": pick(g.rng, deviceModels...)}}})
			if node, ok := where["nodeName"].(string); ok && driver == "held" {
				g.stock.all = append(g.stock.all, drawnDevice{driver: driver + ".example.com", pool: pool, name: name, node: node})
			}
		}
		where["driver"], where["devices"] = driver+".example.com", list
		where["pool"] = object{"name": pool, "generation": 1, "resourceSliceCount": 1}
		add("ResourceSlice", pool, where)
	}
	for _, node := range g.nodeNames {
		if g.chance(0.7) {
			slice("gpu", node+"-pool", g.between(1, 4), object{"nodeName": node})
		}
		slice("held", node+"-held", 2, object{"nodeName": node})
	}
	if g.chance(0.6) {
		slice("net", "fabric", g.between(1, 4), pick(g.rng, object{"allNodes": true}, object{"nodeSelector": object{"nodeSelectorTerms": array{object{
			"matchExpressions": array{object{"key": "topology.kubernetes.io/zone", "operator": "Exists"}}}}}}))
	}
	return items
}

// groupClaims draws claims that the members of a group share, and adds those that the group declares to it.
func (g *groupGenerator) groupClaims(group object) (changes []change) {
	metadata, spec := group["metadata"].(object), group["spec"].(object)
	var shared sharedClaims
	var declared, created array
	for i := range pick(g.rng, 0, 1, 1, 1, 2) {
		name := fmt.Sprintf("%v-claim-%d", metadata["name"], i)
		reference := object{"name": fmt.Sprintf("shared-%d", i), "resourceClaimName": name}
		var owner object
		if g.chance(0.4) {
			reference = object{"name": reference["name"], "resourceClaimTemplateName": "template"}
			owner = object{"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "name": metadata["name"], "uid": metadata["uid"], "controller": true}
			switch roll := g.Float64(); {
			case roll < 0.03:
				owner["name"] = "another"
			case roll < 0.06:
				owner["apiVersion"] = "v1"
			}
			status := object{"name": reference["name"], "resourceClaimName": name}
			if g.chance(0.95) {
				created = append(created, status)
			}
			shared.statuses = append(shared.statuses, copied(status))
		}
		shared.references = append(shared.references, reference)
		switch roll := g.Float64(); {
		case roll < 0.75:
			declared = append(declared, copied(reference))
		case roll < 0.85:
			other := copied(reference).(object)
			other["name"] = "another"
			declared = append(declared, other)
		}
		changes = append(changes, g.claim(metadata["namespace"].(string), name, owner, metadata))
	}
	if declared != nil {
		spec["resourceClaims"] = declared
	}
	if created != nil {
		group["status"] = object{"resourceClaimStatuses": created}
	}
	g.claims[keyOf(group)] = shared
	return changes
}

// claim draws a claim. Some are allocated already, and reserved for a group or for another pod.
func (g *groupGenerator) claim(namespace, name string, owner, group object) change {
	devices := object{"deviceClassName": pick(g.rng, "gpu", "gpu", "gpu", "net")}
	if g.chance(0.2) {
		devices["count"], devices["allocationMode"] = 2, "ExactCount"
	}
	if g.chance(0.2) {
		devices["selectors"] = array{celSelector(fmt.Sprintf(`device.attributes["gpu.example.com"].model == %q`, pick(g.rng, deviceModels...)))}
		devices["deviceClassName"] = "gpu"
	}
	request := object{"name": "r", "exactly": devices}
	if g.chance(0.15) {
		request = object{"name": "r", "firstAvailable": array{object{"name": "a", "deviceClassName": "net"}, object{"name": "b", "deviceClassName": "gpu"}}}
	}
	metadata := object{"name": name, "namespace": namespace, "uid": "uid-of-" + name, "resourceVersion": "1"}
	if owner != nil {
		metadata["ownerReferences"] = array{owner}
	}
	claim := object{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": object{"devices": object{"requests": array{request}}}}
	if device := g.freeDevice(); device != nil && g.chance(0.25) {
		status := object{"allocation": device}
		switch roll := g.Float64(); {
		case roll < 0.3 && group != nil:
			status["reservedFor"] = array{object{"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": group["name"], "uid": group["uid"]}}
		case roll < 0.45:
			status["reservedFor"] = array{object{"resource": "pods", "name": "other", "uid": "uid-of-other"}}
		}
		claim["status"] = status
	}
	g.put(claim)
	return changeTo(claim)
}

// freeDevice returns an allocation of a device that no other drawn allocation has; nil: there is none.
func (g *groupGenerator) freeDevice() object {
	if len(g.stock.all) == 0 {
		return nil
	}
	i := g.IntN(len(g.stock.all))
	device := g.stock.all[i]
	g.stock.all = append(g.stock.all[:i:i], g.stock.all[i+1:]...)
	allocation := object{"devices": object{"results": array{object{"request": "r", "driver": device.driver, "pool": device.pool, "device": device.name}}}}
	allocation["nodeSelector"] = object{"nodeSelectorTerms": array{object{"matchFields": array{
		object{"key": "metadata.name", "operator": "In", "values": array{device.node}}}}}}
	return allocation
}

// useClaims lets a pod use claims of its own and claims of its group. A pod's own claims come first: kube-scheduler gives a
// claim the devices of another one if a shared allocation precedes a new one (docs/differences.md).
func (g *groupGenerator) useClaims(group string, pod object) (changes []change) {
	metadata, spec, status := pod["metadata"].(object), pod["spec"].(object), pod["status"].(object)
	delete(spec, "resourceClaims")
	delete(status, "resourceClaimStatuses")
	if !g.devices {
		return nil
	}
	var references, statuses array
	if g.chance(0.3) {
		name := fmt.Sprintf("own-%d", g.number)
		references = append(references, object{"name": "own", "resourceClaimName": name})
		changes = append(changes, g.claim(metadata["namespace"].(string), name, nil, nil))
	}
	if shared := g.claims[group]; g.chance(0.95) {
		references = append(references, shared.references...)
		statuses = shared.statuses
	}
	if references == nil {
		return changes
	}
	spec["resourceClaims"] = references
	if statuses != nil && g.chance(0.98) {
		status["resourceClaimStatuses"] = statuses
	}
	return changes
}
