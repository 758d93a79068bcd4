package main

import (
	"fmt"
	"strings"
)

// storageObjects draws the storage objects of a cluster except the claims of its pods.
func (g *generator) storageObjects() array {
	for range g.between(0, 2+len(g.nodeNames)) {
		class := pick(g.rng, "local", "local", "local", "fast", "zonal", "ebs")
		g.volume(class, g.between(1, 24)*512, pick(g.rng, "Available", "Available", "Available", "Available", "Released", "Bound", "Failed"))
	}
	items := g.storage.objects
	for _, class := range storageClasses {
		if class.mode != "" && g.chance(0.97) {
			items = append(items, g.storageClass(class.name, class.mode, class.provisioner))
		}
	}
	for _, driver := range drivers {
		if g.chance(0.85) {
			items = append(items, g.csiDriver(driver))
		}
	}
	for _, node := range g.nodeNames {
		if g.chance(0.88) {
			items = append(items, g.csiNode(node))
		}
	}
	items = append(items, g.capacities()...)
	return append(items, g.attachments()...)
}

func (g *generator) storageClass(name, mode, provisioner string) object {
	class := object{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": object{"name": name},
		"provisioner": provisioner, "volumeBindingMode": mode}
	if mode == "Immediate" && g.chance(0.5) {
		delete(class, "volumeBindingMode")
	}
	if name == "zonal" || g.chance(0.05) {
		terms := array{}
		for range g.between(0, 2) {
			term := object{"matchLabelExpressions": array{object{"key": "topology.kubernetes.io/zone",
				"values": some(g.rng, g.between(1, 2), []string{"a", "b", "c"})}}}
			if g.chance(0.1) {
				term = object{}
			}
			if g.chance(0.15) && len(term) > 0 {
				term["matchLabelExpressions"] = append(term["matchLabelExpressions"].(array), object{"key": "disk", "values": array{"ssd"}})
			}
			terms = append(terms, term)
		}
		class["allowedTopologies"] = terms
	}
	return class
}

func (g *generator) csiDriver(name string) object {
	spec := object{}
	if g.chance(0.85) {
		spec["storageCapacity"] = g.chance(0.9)
	}
	if name == g.storage.required || name == g.storage.alsoRequired {
		spec["preventPodSchedulingIfMissing"] = true
	} else if g.chance(0.2) {
		spec["preventPodSchedulingIfMissing"] = false
	}
	return object{"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": object{"name": name}, "spec": spec}
}

// csiNode draws the drivers of a node, their volume limits, and the migrated plugins.
func (g *generator) csiNode(node string) object {
	metadata := object{"name": node}
	var plugins, names []string
	for _, m := range migrated {
		names = append(names, m.driver)
		if g.chance(0.8) {
			plugins = append(plugins, m.plugin)
		}
	}
	if g.chance(0.85) {
		metadata["annotations"] = object{"storage.alpha.kubernetes.io/migrated-plugins": strings.Join(plugins, ",")}
	}
	list := array{}
	for _, name := range append([]string{"csi.example.com", "csi.other.com"}, names...) {
		if g.chance(0.2) || g.focus == chance && g.chance(0.4) {
			continue
		}
		driver := object{"name": name, "nodeID": node, "topologyKeys": nil}
		if g.chance(0.7) {
			driver["allocatable"] = object{"count": pick(g.rng, 0, 1, 1, 2, 2, 3, 5)}
		} else if g.chance(0.3) {
			driver["allocatable"] = object{}
		}
		list = append(list, driver)
	}
	return object{"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": object{"drivers": list}}
}

// capacities draws CSIStorageCapacity objects. At most one per class matches a node, because kube-scheduler uses any of
// several, unless chance may decide.
func (g *generator) capacities() (items array) {
	one := func(class string, topology any) {
		capacity := object{"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
			"metadata":         object{"name": fmt.Sprintf("capacity-%d", g.number()), "namespace": "kube-system"},
			"storageClassName": class}
		if topology != nil {
			capacity["nodeTopology"] = topology
		}
		if g.chance(0.9) {
			capacity["capacity"] = fmt.Sprintf("%dMi", g.between(0, 40)*1024)
			// Alone it would crash kube-scheduler's score.
			if g.chance(0.2) {
				capacity["maximumVolumeSize"] = fmt.Sprintf("%dMi", g.between(0, 12)*1024)
			}
		}
		items = append(items, capacity)
	}
	if g.focus == chance {
		for range g.between(2, 6) {
			one(pick(g.rng, "fast", "fast", "zonal"), pick[any](g.rng, nil, object{}, object{"matchLabels": object{"topology.kubernetes.io/zone": "a"}}))
		}
	}
	for _, class := range []string{"fast", "zonal", "other"} {
		switch roll := g.Float64(); {
		case roll < 0.1:
		case roll < 0.2:
			one(class, nil)
		case roll < 0.35:
			one(class, object{})
		case roll < 0.4:
			one(class, g.brokenSelector())
		default:
			for _, zone := range []string{"a", "b", "c"} {
				if g.chance(0.85) {
					one(class, object{"matchLabels": object{"topology.kubernetes.io/zone": zone}})
				}
			}
		}
	}
	return items
}

// attachments draws VolumeAttachments: of volumes in use, of others, of deleted volumes.
func (g *generator) attachments() (items array) {
	if len(g.storage.volumes) == 0 {
		return nil
	}
	for range g.between(0, 2*len(g.nodeNames)) {
		volume := pick(g.rng, g.storage.volumes...)
		driver := volume.driver
		if driver == "" {
			driver = pick(g.rng, drivers...)
		}
		source := object{"persistentVolumeName": volume.name}
		if g.chance(0.05) {
			source["persistentVolumeName"] = "vanished"
		}
		items = append(items, object{"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
			"metadata": object{"name": fmt.Sprintf("attachment-%d", g.number())},
			"spec":     object{"attacher": driver, "nodeName": g.someNodeName(), "source": source},
			"status":   object{"attached": true}})
	}
	return items
}
