package main

// declaredFeatures in the order in which a kubelet lists them; of the last ones scheduling knows nothing.
var declaredFeatures = []string{
	"DRANodeAllocatableResources", "ExtendWebSocketsToKubelet", "RestartAllContainersOnContainerExits",
	"UserNamespacesHostNetworkSupport", "VolumeBindMountOptions", "ZukunftsMusik",
}

// nodeFeatures draws status.declaredFeatures.
func (g *generator) nodeFeatures(status object) {
	if g.features == 0 || g.chance(0.15) {
		return
	}
	declared := array{}
	for _, name := range declaredFeatures {
		if g.chance(0.7) {
			declared = append(declared, name)
		}
	}
	status["declaredFeatures"] = declared
}

// featureNeeds gives a pod what only some nodes can do, and now and then what merely looks like it.
func (g *generator) featureNeeds(spec object) {
	if !g.chance(g.features) {
		return
	}
	containers := spec["containers"].(array)
	if inits, ok := spec["initContainers"].(array); ok && len(inits) > 0 && g.chance(0.5) {
		containers = inits
	}
	if len(containers) == 0 {
		return
	}
	container := pick(g.dice, containers...).(object)
	if g.chance(0.45) {
		rules := array{}
		for range g.between(1, 2) {
			rules = append(rules, object{"action": pick(g.dice, "Restart", "RestartAllContainers"),
				"exitCodes": object{"operator": "In", "values": array{g.between(1, 5)}}})
		}
		container["restartPolicyRules"] = rules
	}
	if g.chance(0.4) {
		spec["hostNetwork"] = g.chance(0.8)
		if g.chance(0.8) {
			spec["hostUsers"] = g.chance(0.2)
		}
	}
	if g.chance(0.4) {
		mount := object{"name": "data", "mountPath": "/data"}
		if options := pick(g.dice, array{"noexec"}, array{"noexec", "nosuid"}, array{}, nil); options != nil {
			mount["bindMountOptions"] = options
		}
		container["volumeMounts"] = array{mount}
	}
}
