package main

import "fmt"

// Extended resources that classes provide. NodeResourcesBalancedAllocation of kube-scheduler crashes if it counts the
// devices of a class with selectors; so its arguments, which have names of scalarNames, name only the resources of
// classes without selectors: example.com/foo and that of class-a.
const (
	gpuResource   = "devices.example.com/gpu"
	largeResource = "devices.example.com/large"
	prefix        = "deviceclass.resource.kubernetes.io/"
)

var deviceResources = []string{gpuResource, gpuResource, largeResource, "example.com/foo", "example.com/foo",
	"devices.example.com/net", "devices.example.com/wrong", prefix + "any", prefix + "net", prefix + "class-a", prefix + "none"}

// provides sets one of the names as the extended resource of a class.
func (g *generator) provides(spec object, names ...string) object {
	if g.chance(0.8) {
		spec["extendedResourceName"] = pick(g.rng, names...)
	}
	return spec
}

// offerDevices lets the device plugins of a node offer some of the resources.
func (g *generator) offerDevices(node object) {
	status, ok := node["status"].(object)
	if !ok {
		return
	}
	for g.chance(0.35) {
		allocatable, ok := status["allocatable"].(object)
		if !ok {
			return
		}
		allocatable[pick(g.rng, deviceResources...)] = pick(g.rng, "0", "1", "2", "2", "5")
	}
}

// requestDevices adds requests for extended resources to a pod, and sometimes the claim of an earlier attempt.
func (g *generator) requestDevices(metadata, spec object) {
	if !g.chance(0.45) {
		return
	}
	requests := func(container object, name string) {
		resources, ok := container["resources"].(object)
		if !ok {
			resources = object{}
			container["resources"] = resources
		}
		list, ok := resources["requests"].(object)
		if !ok {
			list = object{}
			resources["requests"] = list
		}
		list[name] = pick(g.rng, "1", "1", "1", "2", "2", "3", "0")
	}
	for range pick(g.rng, 1, 1, 1, 2, 3) {
		name := pick(g.rng, deviceResources...)
		for _, list := range []string{"containers", "initContainers"} {
			containers, _ := spec[list].(array)
			for _, container := range containers {
				if g.chance(0.6) {
					requests(container.(object), name)
				}
			}
		}
	}
	if uid, ok := metadata["uid"]; ok && g.chance(0.15) {
		g.earlierClaim(metadata, uid.(string))
	}
}

// earlierClaim adds a claim for extended resources that an earlier attempt has left, or one that only resembles it.
func (g *generator) earlierClaim(metadata object, uid string) {
	namespace, ok := metadata["namespace"].(string)
	if !ok {
		namespace = "default"
	}
	owner := object{"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": uid, "controller": true}
	switch roll := g.Float64(); {
	case roll < 0.1:
		owner["uid"] = "uid-of-another"
	case roll < 0.15:
		owner["name"] = "another"
	}
	spec := object{}
	if g.chance(0.5) {
		spec["requests"] = array{object{"name": "container-0-request-0", "exactly": object{"deviceClassName": "gpu"}}}
	}
	var status object
	if g.chance(0.4) && len(g.stock.all) > 0 {
		device := pick(g.rng, g.stock.all...)
		status = object{"allocation": object{"devices": object{"results": array{object{"request": "container-0-request-0",
			"driver": device.driver, "pool": device.pool, "device": device.name}}}}}
		if device.node != "" {
			status["allocation"].(object)["nodeSelector"] = object{"nodeSelectorTerms": array{object{"matchFields": array{
				object{"key": "metadata.name", "operator": "In", "values": array{device.node}}}}}}
		}
	}
	name := fmt.Sprintf("%s-extended-resources-x", metadata["name"])
	g.resourceClaim(namespace, name, spec, status, owner)
	claim := g.stock.objects[len(g.stock.objects)-1].(object)
	claim["metadata"].(object)["annotations"] = object{"resource.kubernetes.io/extended-resource-claim": pick(g.rng, "true", "true", "true", "true", "false")}
}
