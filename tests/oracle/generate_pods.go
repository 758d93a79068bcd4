package main

import "fmt"

var podNamespaces = []string{"default", "default", "kube-system", "team-a", "team-b"}

// pod draws the common parts of bound and pending pods.
func (g *generator) pod(name string) (pod, metadata, spec, status object) {
	metadata = object{"name": name}
	namespace := pick(g.rng, podNamespaces...)
	if g.chance(g.together) {
		namespace = g.home
	}
	if namespace != "default" || g.chance(0.5) {
		metadata["namespace"] = namespace
	}
	if g.chance(0.9) {
		metadata["uid"] = "pod-uid-" + name
	}
	if labels := g.podLabels(); len(labels) > 0 {
		metadata["labels"] = labels
	}
	spec = object{"containers": g.containers()}
	if g.chance(0.15) {
		spec["initContainers"] = g.initContainers()
	}
	if g.chance(0.1) {
		spec["overhead"] = pick[any](g.rng, object{"cpu": g.cpu(250), "memory": g.memory(120)}, object{"cpu": "10m"},
			object{"memory": "64Mi", "example.com/foo": "1"}, object{})
	}
	if g.chance(0.1) {
		spec["resources"] = g.podLevelResources()
	}
	if g.chance(0.05) {
		spec["hostNetwork"] = true
	}
	if g.chance(0.3) {
		spec["priority"] = pick(g.rng, -10, 0, 5, 1000, 2000001000)
	}
	if g.images > 0 && g.chance(0.06) {
		volumes := array{object{"name": "empty", "emptyDir": object{}}}
		for i := range g.between(1, 2) {
			volumes = append(volumes, object{"name": fmt.Sprintf("image-%d", i), "image": object{"reference": g.image()}})
		}
		spec["volumes"] = volumes
	}
	status = object{}
	pod = object{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}
	return pod, metadata, spec, status
}

func (g *generator) image() string { return pick(g.rng, imageNames...).pod }

func (g *generator) container(name string) object {
	c := object{"name": name, "image": g.image()}
	if resources := g.resources(g.podCPU, g.podMemory); len(resources) > 0 || g.chance(0.5) {
		c["resources"] = resources
	}
	if g.chance(0.12) {
		c["ports"] = g.ports()
	}
	return c
}

func (g *generator) containers() array {
	count := 1
	for g.chance(0.3) && count < 4 {
		count++
	}
	if g.wild && g.chance(0.02) {
		count = 0
	}
	containers := array{}
	for i := range count {
		containers = append(containers, g.container(fmt.Sprintf("c%d", i)))
	}
	return containers
}

func (g *generator) initContainers() array {
	var containers array
	for i := range g.between(1, 4) {
		c := g.container(fmt.Sprintf("i%d", i))
		if g.chance(0.5) {
			c["restartPolicy"] = pick(g.rng, "Always", "Always", "Always", "Never")
		}
		containers = append(containers, c)
	}
	return containers
}

func (g *generator) ports() array {
	var ports array
	for range g.between(1, 3) {
		port := object{"containerPort": pick(g.rng, 80, 443, 8080, 9100)}
		if g.chance(0.7) {
			port["hostPort"] = pick(g.rng, 80, 80, 443, 8080, 0)
		}
		if g.chance(0.5) {
			port["hostIP"] = pick(g.rng, "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1")
		}
		if g.chance(0.5) {
			port["protocol"] = pick(g.rng, "TCP", "UDP", "SCTP", "")
		}
		ports = append(ports, port)
	}
	return ports
}

func (g *generator) podLevelResources() object {
	list := func() object {
		r := object{}
		if g.chance(0.6) {
			r["cpu"] = g.cpu(g.between(1, g.podCPU))
		}
		if g.chance(0.6) {
			r["memory"] = g.memory(g.between(1, g.podMemory))
		}
		if g.chance(0.15) {
			r["hugepages-2Mi"] = "4Mi"
		}
		if g.chance(0.1) {
			r[pick(g.rng, "ephemeral-storage", "example.com/foo")] = "1"
		}
		return r
	}
	resources := object{}
	if g.chance(0.7) {
		resources["requests"] = list()
	}
	if g.chance(0.5) {
		resources["limits"] = list()
	}
	return resources
}

// boundPod is a pod with a node, in any state that a kubelet reports.
func (g *generator) boundPod(i int) object {
	pod, metadata, spec, status := g.pod(fmt.Sprintf("bound-%d", i))
	spec["nodeName"] = g.someNodeName()
	if g.uniform {
		spec["nodeName"] = g.nodeNames[i%len(g.nodeNames)]
	}
	status["phase"] = pick(g.rng, "Running", "Running", "Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown")
	if g.chance(0.05) {
		metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
		metadata["deletionGracePeriodSeconds"] = 30
	}
	if g.chance(0.1) {
		spec["schedulerName"] = "someone-else"
	}
	if g.chance(0.02) {
		status["nominatedNodeName"] = g.someNodeName()
	}
	if g.chance(0.2) {
		g.resizing(spec, status)
	}
	g.boundImportance(metadata, spec, status)
	g.relations(metadata, spec, 0.6)
	g.podVolumes(metadata, spec, true)
	return pod
}

// resizing sets the status of an in-place resize.
func (g *generator) resizing(spec, status object) {
	statuses := func(containers array) array {
		var out array
		for _, c := range containers {
			if g.chance(0.15) {
				continue
			}
			s := object{"name": c.(object)["name"], "image": "x", "imageID": "", "ready": true, "restartCount": 0}
			if g.chance(0.7) {
				s["allocatedResources"] = g.requests(g.podCPU, g.podMemory)
			}
			if g.chance(0.7) {
				s["resources"] = object{"requests": g.requests(g.podCPU, g.podMemory)}
			} else if g.chance(0.2) {
				s["resources"] = object{}
			}
			out = append(out, s)
		}
		return out
	}
	status["containerStatuses"] = statuses(spec["containers"].(array))
	if inits, ok := spec["initContainers"]; ok {
		status["initContainerStatuses"] = statuses(inits.(array))
	}
	if g.chance(0.4) {
		condition := object{"type": "PodResizePending", "status": "True", "reason": pick(g.rng, "Infeasible", "Infeasible", "Deferred")}
		if g.chance(0.1) {
			condition["status"] = "False"
		}
		status["conditions"] = array{object{"type": "Ready", "status": "True"}, condition}
	}
	if _, ok := spec["resources"]; ok && g.chance(0.6) {
		if g.chance(0.7) {
			status["allocatedResources"] = g.podLevelResources()["requests"]
		}
		if g.chance(0.8) {
			status["resources"] = g.podLevelResources()
		}
	}
}

// pendingPod is a pod without a node. Each has only a few special fields, so that most pods fit somewhere.
func (g *generator) pendingPod(i int) object {
	pod, metadata, spec, status := g.pod(fmt.Sprintf("pending-%d", i))
	status["phase"] = "Pending"
	spec["schedulerName"] = pick(g.rng, g.schedulers...)
	switch roll := g.Float64(); {
	case roll < 0.02:
		spec["schedulerName"] = "someone-else"
	case roll < 0.04:
		delete(spec, "schedulerName")
	case roll < 0.05:
		metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
	case roll < 0.06:
		status["phase"] = pick(g.rng, "Succeeded", "Failed")
	case roll < 0.09:
		gates := array{}
		for range g.between(0, 3) {
			gates = append(gates, object{"name": pick(g.rng, "example.com/quota", "b", "a", "wait<>&")})
		}
		spec["schedulingGates"] = gates
	case roll < 0.09+0.08*g.others():
		status["nominatedNodeName"] = g.someNodeName()
	case roll < 0.19:
		g.resizing(spec, status)
	}
	if g.taints > 0 && g.chance(0.7) {
		spec["tolerations"] = g.tolerations()
	}
	if g.chance(0.12 * g.others()) {
		spec["nodeSelector"] = g.nodeSelector()
	}
	if g.chance(0.3 * g.others()) {
		spec["affinity"] = object{"nodeAffinity": g.nodeAffinity()}
	}
	if nominated, ok := status["nominatedNodeName"]; ok && g.chance(0.3) {
		// PreFilter reduces the nodes, with or without the nominated one.
		terms := array{}
		for range g.between(1, 3) {
			terms = append(terms, object{"matchFields": array{object{"key": "metadata.name", "operator": "In", "values": array{g.someNodeName()}}}})
		}
		if g.chance(0.5) {
			terms = append(terms, object{"matchFields": array{object{"key": "metadata.name", "operator": "In", "values": array{nominated}}}})
		}
		spec["affinity"] = object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": terms}}}
	}
	if g.devices > 0 {
		g.podClaims(metadata, spec, status)
		g.requestDevices(metadata, spec)
	}
	g.pendingImportance(spec, status)
	g.featureNeeds(spec)
	g.relations(metadata, spec, 1)
	g.podVolumes(metadata, spec, false)
	return pod
}

func (g *generator) tolerations() array {
	tolerations := array{}
	for range g.between(0, 5) {
		t := object{}
		if key := pick(g.rng, taintKeys...); g.chance(0.92) {
			t["key"] = key
		}
		if operator := pick(g.rng, "", "Equal", "Exists", "Exists"); operator != "" {
			t["operator"] = operator
		}
		if g.chance(g.unusual) {
			t["operator"] = pick(g.rng, "Lt", "Gt", "Like")
		}
		if value := pick(g.rng, taintValues...); t["operator"] != "Exists" || g.chance(0.05) {
			t["value"] = value
		}
		if g.chance(0.6) {
			t["effect"] = pick(g.rng, effects...)
		}
		if g.chance(0.1) {
			t["tolerationSeconds"] = 30
		}
		tolerations = append(tolerations, t)
	}
	return tolerations
}
