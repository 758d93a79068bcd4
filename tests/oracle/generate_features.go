package main

// declaredFeatures in the order in which a kubelet lists them; the last ones are irrelevant for scheduling.
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

// featureNeeds gives a pod a field that requires a node feature, or sometimes a similar one that does not.
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
	container := pick(g.rng, containers...).(object)
	if g.chance(0.45) {
		rules := array{}
		for range g.between(1, 2) {
			rules = append(rules, object{"action": pick(g.rng, "Restart", "RestartAllContainers"),
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
		if options := pick(g.rng, array{"noexec"}, array{"noexec", "nosuid"}, array{}, nil); options != nil {
			mount["bindMountOptions"] = options
		}
		container["volumeMounts"] = array{mount}
	}
}
