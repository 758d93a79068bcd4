package main

import "fmt"

// volume draws a PersistentVolume of approximately this size. All sizes differ, because kube-scheduler chooses any of
// equal ones, unless chance may decide.
func (g *generator) volume(class string, size int, phase string) object {
	n := g.number()
	name := fmt.Sprintf("volume-%d", n)
	kibibytes := size*1024 + n
	if g.focus == chance {
		kibibytes = (size + 2047) / 2048 * 2048 * 1024
	}
	spec := object{
		"capacity":    object{"storage": fmt.Sprintf("%dKi", kibibytes)},
		"accessModes": array{"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"},
	}
	if class != "" {
		spec["storageClassName"] = class
	}
	if g.chance(0.15) {
		spec["accessModes"] = array{"ReadWriteOnce"}
	}
	if g.chance(0.06) {
		spec["volumeMode"] = "Block"
	}
	if g.chance(0.05) {
		spec["volumeAttributesClassName"] = pick(g.rng, "quick", "")
	}
	labels := object{}
	if g.chance(0.5) {
		labels["quality"] = pick(g.rng, "gold", "tin")
	}
	if phase == "Bound" {
		g.zoneLabels(labels)
	}
	driver := g.volumeSource(spec, labels, class, n)
	if affinity := g.volumeAffinity(class); affinity != nil {
		spec["nodeAffinity"] = affinity
	}
	metadata := object{"name": name, "labels": labels, "uid": "volume-uid-" + name}
	if g.chance(0.02) {
		metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
		metadata["finalizers"] = array{"kubernetes.io/pv-protection"}
	}
	volume := object{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": object{"phase": phase}}
	g.storage.objects = append(g.storage.objects, volume)
	g.storage.volumes = append(g.storage.volumes, drawnVolume{name, driver})
	return volume
}

// zoneLabels draws the labels that VolumeZone evaluates, including lists of zones.
func (g *generator) zoneLabels(labels object) {
	if g.chance(0.25) {
		labels["topology.kubernetes.io/zone"] = pick(g.rng, "a", "b", "a__b", "b__c", "a__b__c", "z", "a__", "")
	}
	if g.chance(0.1) {
		labels["topology.kubernetes.io/region"] = pick(g.rng, "eu", "us", "eu__us")
	}
	if g.chance(0.05) {
		labels["failure-domain.beta.kubernetes.io/zone"] = pick(g.rng, "a", "b", "a__b")
	}
}

// volumeSource draws the source of the volume and returns its CSI driver.
func (g *generator) volumeSource(spec, labels object, class string, n int) (driver string) {
	handle := fmt.Sprintf("handle-%d", n)
	if g.chance(0.05) {
		handle = "shared"
	}
	if class == "local" {
		spec["local"] = object{"path": "/data"}
		return ""
	}
	if class != "ebs" && g.chance(0.7) {
		driver = pick(g.rng, "csi.example.com", "csi.example.com", "csi.other.com")
		spec["csi"] = object{"driver": driver, "volumeHandle": handle}
		return driver
	}
	kind := g.IntN(len(migrated) + 1)
	if class == "ebs" {
		kind = 0
	}
	switch kind {
	case 0:
		spec["awsElasticBlockStore"] = object{"volumeID": pick(g.rng, "vol-"+handle, "aws://a/vol-"+handle)}
	case 1:
		spec["gcePersistentDisk"] = object{"pdName": handle}
		if g.chance(0.8) {
			labels["topology.kubernetes.io/zone"] = pick(g.rng, "a", "eu-west1-a", "eu-west1-b", "eu-west1-a__eu-west1-b")
		}
	case 2:
		spec["azureDisk"] = g.azureDisk(handle)
	case 3:
		spec["cinder"] = object{"volumeID": handle}
	case 4:
		spec["portworxVolume"] = object{"volumeID": handle}
	default:
		spec["nfs"] = object{"server": "nfs", "path": "/" + handle}
		return ""
	}
	return migrated[kind].driver
}

// azureDisk draws a disk, usually of the kind that can be migrated; without a kind it is invalid.
func (g *generator) azureDisk(name string) object {
	disk := object{"diskName": name, "diskURI": "/subscriptions/s/" + name, "kind": "Managed"}
	if g.chance(g.unusual * 0.2) {
		delete(disk, "kind")
	}
	return disk
}

func (g *generator) volumeAffinity(class string) any {
	in := func(key string, values ...any) object {
		return object{"required": object{"nodeSelectorTerms": array{object{"matchExpressions": array{
			object{"key": key, "operator": "In", "values": values}}}}}}
	}
	if class == "local" && g.chance(0.9) {
		return in("kubernetes.io/hostname", g.someNodeName())
	}
	if class == "ebs" && g.chance(0.5) {
		return in(pick(g.rng, "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"), pick(g.rng, "a", "b"))
	}
	switch roll := g.Float64(); {
	case roll < 0.5:
		return nil
	case roll < 0.75:
		return in("topology.kubernetes.io/zone", pick(g.rng, "a", "b", "c"), "b")
	case roll < 0.9:
		return in("kubernetes.io/hostname", g.someNodeName(), g.someNodeName())
	case roll < 0.97:
		return object{"required": object{"nodeSelectorTerms": array{g.selectorTerm(g.unusual), g.selectorTerm(g.unusual)}}}
	default:
		return pick[any](g.rng, object{}, object{"required": object{"nodeSelectorTerms": array{}}})
	}
}

// disk draws a volume that identifies its disk. There are few disks, so pods share them.
func (g *generator) disk() object {
	name := fmt.Sprintf("disk-%d", g.IntN(2))
	readOnly := g.chance(0.4)
	switch g.IntN(8) {
	case 0, 1:
		return object{"gcePersistentDisk": object{"pdName": name, "readOnly": readOnly}}
	case 2, 3:
		return object{"awsElasticBlockStore": object{"volumeID": name, "readOnly": readOnly}}
	case 4:
		return object{"iscsi": object{"targetPortal": "10.0.0.1", "iqn": "iqn.2026-01.org.example:" + name, "lun": g.IntN(2), "readOnly": readOnly}}
	case 5:
		return object{"rbd": object{"monitors": some(g.rng, g.between(1, 2), []string{"m1", "m2", "m3"}), "image": name,
			"pool": pick(g.rng, "", "rbd", "rbd", "other"), "readOnly": readOnly}}
	case 6:
		return object{"azureDisk": g.azureDisk(name)}
	default:
		return pick(g.rng, object{"cinder": object{"volumeID": name}}, object{"portworxVolume": object{"volumeID": name}})
	}
}
