package main

import "fmt"

// storage is what a cluster has of volumes. Claims and volumes are drawn along with the pods that use them.
type storage struct {
	objects array
	// claims by namespace, for pods that share them.
	claims map[string][]string
	// volumes are the names of PersistentVolumes, each with its driver.
	volumes []drawnVolume
	count   int
	// required is the driver without which a node takes no pod: at most one, since of several missing ones
	// kube-scheduler names any.
	required string
}

type drawnVolume struct{ name, driver string }

// Storage classes; of the last one there is no object.
var storageClasses = []struct{ name, mode, provisioner string }{
	{"fast", "WaitForFirstConsumer", "csi.example.com"},
	{"zonal", "WaitForFirstConsumer", "csi.example.com"},
	{"local", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"},
	{"ebs", "WaitForFirstConsumer", "kubernetes.io/aws-ebs"},
	{"other", "WaitForFirstConsumer", "csi.other.com"},
	{"now", "Immediate", "csi.other.com"},
	{"gone", "", ""},
}

// waiting are the classes whose claims wait for a pod.
var waiting = []string{"fast", "fast", "fast", "zonal", "zonal", "local", "local", "local", "ebs", "other"}

// In-tree plugins that CSI drivers have taken over, with the label by which their drivers tell zones.
var migrated = []struct{ plugin, driver, zone string }{
	{"kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"},
	{"kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"},
	{"kubernetes.io/azure-disk", "disk.csi.azure.com", "topology.disk.csi.azure.com/zone"},
	{"kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"},
	{"kubernetes.io/portworx-volume", "pxd.portworx.com", ""},
}

var drivers = []string{"csi.example.com", "csi.other.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com"}

func (g *generator) number() int {
	g.storage.count++
	return g.storage.count
}

// storageLabels gives a node the labels by which CSI drivers tell zones.
func (g *generator) storageLabels(labels object) {
	zone, ok := labels["topology.kubernetes.io/zone"]
	if g.volumes == 0 || !ok {
		return
	}
	for _, m := range migrated {
		if m.zone != "" && g.chance(0.7) {
			labels[m.zone] = zone
			if m.plugin == "kubernetes.io/gce-pd" {
				labels[m.zone] = "eu-west1-" + zone.(string)
			}
		}
	}
}

// podVolumes gives a pod volumes. Of pods that run, most claims are bound.
func (g *generator) podVolumes(metadata, spec object, running bool) {
	if !g.chance(g.volumes) {
		return
	}
	namespace, ok := metadata["namespace"].(string)
	if !ok {
		namespace = "default"
	}
	volumes, _ := spec["volumes"].(array)
	for i := range pick(g.dice, 1, 1, 1, 2, 2, 3) {
		name := fmt.Sprintf("v%d", i)
		volume := object{"name": name}
		switch roll := g.Float64(); {
		case roll < 0.6:
			volume["persistentVolumeClaim"] = object{"claimName": g.claimFor(namespace, running)}
		case roll < 0.68:
			g.ephemeral(namespace, metadata, volume, running)
		case roll < 0.95:
			for kind, source := range g.disk() {
				volume[kind] = source
			}
		case roll < 0.97:
			volume["csi"] = object{"driver": pick(g.dice, drivers...)}
		default:
			volume["emptyDir"] = object{}
		}
		volumes = append(volumes, volume)
	}
	spec["volumes"] = volumes
}

// claimFor is the name of a claim, new or shared, of a kind a pod may meet.
func (g *generator) claimFor(namespace string, running bool) string {
	if g.chance(g.oddity * 0.05) {
		return ""
	}
	if g.chance(0.02) {
		return "missing"
	}
	if claims := g.storage.claims[namespace]; len(claims) > 0 && g.chance(0.35) {
		return pick(g.dice, claims...)
	}
	name := fmt.Sprintf("claim-%d", g.number())
	g.claim(namespace, name, nil, running)
	g.storage.claims[namespace] = append(g.storage.claims[namespace], name)
	return name
}

// ephemeral draws a volume whose claim another controller makes from the pod's template.
func (g *generator) ephemeral(namespace string, metadata, volume object, running bool) {
	volume["ephemeral"] = object{"volumeClaimTemplate": object{"spec": object{"accessModes": array{"ReadWriteOnce"},
		"resources": object{"requests": object{"storage": "1Gi"}}}}}
	if g.chance(0.07) {
		return
	}
	podName := metadata["name"].(string)
	metadata["uid"] = "pod-uid-" + podName
	owner := object{"apiVersion": "v1", "kind": "Pod", "name": podName, "uid": metadata["uid"], "controller": true}
	owners := array{owner}
	switch mistakes := 0.12; {
	case running && !g.chance(0.1):
	case g.chance(mistakes):
		owner["uid"] = "someone-else"
	case g.chance(mistakes):
		delete(owner, "controller")
	case g.chance(mistakes):
		owners = array{}
	}
	g.claim(namespace, podName+"-"+volume["name"].(string), owners, running)
}

// claim draws a PersistentVolumeClaim, and the volume it belongs to.
func (g *generator) claim(namespace, name string, owners array, running bool) {
	uid := fmt.Sprintf("claim-uid-%d", g.number())
	annotations := object{}
	metadata := object{"name": name, "namespace": namespace, "uid": uid, "annotations": annotations}
	if len(owners) > 0 {
		metadata["ownerReferences"] = owners
	}
	spec := object{"accessModes": array{pick(g.dice, "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod")}}
	size := g.between(1, 12) * 1024
	if g.chance(0.97) {
		spec["resources"] = object{"requests": object{"storage": fmt.Sprintf("%dMi", size)}}
	}
	if g.chance(0.08) {
		spec["volumeMode"] = "Block"
	}
	status := object{"phase": "Pending"}
	roll := g.Float64()
	if running {
		roll *= 0.45
	}
	reference := object{"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name, "uid": uid}
	switch {
	case roll < 0.4:
		g.boundClaim(annotations, spec, status, reference, size)
	case roll < 0.82:
		g.waitingClaim(annotations, spec, reference, size)
	case roll < 0.86:
		spec["storageClassName"] = "now"
	case roll < 0.88:
		spec["storageClassName"] = pick(g.dice, "", "gone")
	case roll < 0.9:
	case roll < 0.93:
		spec["volumeName"], status["phase"] = "lost", "Lost"
		annotations["pv.kubernetes.io/bind-completed"] = "yes"
	case roll < 0.95:
		metadata["deletionTimestamp"] = "2026-01-02T03:04:05Z"
		metadata["finalizers"] = array{"kubernetes.io/pvc-protection"}
	default:
		g.boundClaim(annotations, spec, status, reference, size)
	}
	g.storage.objects = append(g.storage.objects, object{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"metadata": metadata, "spec": spec, "status": status})
}

// boundClaim is bound to a volume, now and then to one that is not there or not bound completely.
func (g *generator) boundClaim(annotations, spec, status, reference object, size int) {
	spec["storageClassName"] = pick(g.dice, "fast", "zonal", "local", "ebs", "now", "")
	annotations["pv.kubernetes.io/bind-completed"] = "yes"
	status["phase"] = "Bound"
	switch roll := g.Float64(); {
	case roll < 0.04:
		spec["volumeName"] = "vanished"
		return
	case roll < 0.07:
		delete(annotations, "pv.kubernetes.io/bind-completed")
	}
	volume := g.volume(spec["storageClassName"].(string), size, "Bound")
	volume["spec"].(object)["claimRef"] = reference
	spec["volumeName"] = volume["metadata"].(object)["name"]
}

// waitingClaim waits for a pod to be placed.
func (g *generator) waitingClaim(annotations, spec, reference object, size int) {
	class := pick(g.dice, waiting...)
	spec["storageClassName"] = class
	if g.chance(0.06) {
		annotations["volume.beta.kubernetes.io/storage-class"] = class
	}
	if g.chance(0.1) {
		annotations["volume.kubernetes.io/selected-node"] = g.someNodeName()
	}
	if g.chance(0.08) {
		spec["selector"] = object{"matchLabels": object{"quality": "gold"}}
		if g.chance(g.oddity) {
			spec["selector"] = g.brokenSelector()
		}
	}
	if g.chance(0.06) {
		spec["volumeAttributesClassName"] = pick(g.dice, "quick", "")
	}
	if g.chance(0.12) {
		volume := g.volume(class, size+g.between(-1, 4)*512, pick(g.dice, "Available", "Available", "Pending"))
		claim := object{"namespace": reference["namespace"], "name": reference["name"]}
		if g.chance(0.5) {
			claim["uid"] = pick[any](g.dice, reference["uid"], reference["uid"], "old")
		}
		volume["spec"].(object)["claimRef"] = claim
	}
}

// volume draws a PersistentVolume of about a size. No two have the same one, since of equal ones
// kube-scheduler takes any.
func (g *generator) volume(class string, size int, phase string) object {
	n := g.number()
	name := fmt.Sprintf("volume-%d", n)
	spec := object{
		"capacity":    object{"storage": fmt.Sprintf("%dKi", size*1024+n)},
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
		spec["volumeAttributesClassName"] = pick(g.dice, "quick", "")
	}
	labels := object{}
	if g.chance(0.5) {
		labels["quality"] = pick(g.dice, "gold", "tin")
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

// zoneLabels draws the labels VolumeZone looks at, lists of zones among them.
func (g *generator) zoneLabels(labels object) {
	if g.chance(0.25) {
		labels["topology.kubernetes.io/zone"] = pick(g.dice, "a", "b", "a__b", "b__c", "a__b__c", "z", "a__", "")
	}
	if g.chance(0.1) {
		labels["topology.kubernetes.io/region"] = pick(g.dice, "eu", "us", "eu__us")
	}
	if g.chance(0.05) {
		labels["failure-domain.beta.kubernetes.io/zone"] = pick(g.dice, "a", "b", "a__b")
	}
}

// volumeSource draws where the data is, and says by which CSI driver.
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
		driver = pick(g.dice, "csi.example.com", "csi.example.com", "csi.other.com")
		spec["csi"] = object{"driver": driver, "volumeHandle": handle}
		return driver
	}
	kind := g.IntN(len(migrated) + 1)
	if class == "ebs" {
		kind = 0
	}
	switch kind {
	case 0:
		spec["awsElasticBlockStore"] = object{"volumeID": pick(g.dice, "vol-"+handle, "aws://a/vol-"+handle)}
	case 1:
		spec["gcePersistentDisk"] = object{"pdName": handle}
		if g.chance(0.8) {
			labels["topology.kubernetes.io/zone"] = pick(g.dice, "a", "eu-west1-a", "eu-west1-b", "eu-west1-a__eu-west1-b")
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

// azureDisk draws a disk of the kind that can be migrated, mostly; without a kind it is none, and an error.
func (g *generator) azureDisk(name string) object {
	disk := object{"diskName": name, "diskURI": "/subscriptions/s/" + name, "kind": "Managed"}
	if g.chance(g.oddity * 0.2) {
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
		return in(pick(g.dice, "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone", "topology.ebs.csi.aws.com/zone"), pick(g.dice, "a", "b"))
	}
	switch roll := g.Float64(); {
	case roll < 0.5:
		return nil
	case roll < 0.75:
		return in("topology.kubernetes.io/zone", pick(g.dice, "a", "b", "c"), "b")
	case roll < 0.9:
		return in("kubernetes.io/hostname", g.someNodeName(), g.someNodeName())
	case roll < 0.97:
		return object{"required": object{"nodeSelectorTerms": array{g.selectorTerm(g.oddity), g.selectorTerm(g.oddity)}}}
	default:
		return pick[any](g.dice, object{}, object{"required": object{"nodeSelectorTerms": array{}}})
	}
}

// disk draws a volume that names its disk, of few disks, so that pods meet on them.
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
		return object{"rbd": object{"monitors": some(g.dice, g.between(1, 2), []string{"m1", "m2", "m3"}), "image": name,
			"pool": pick(g.dice, "", "rbd", "rbd", "other"), "readOnly": readOnly}}
	case 6:
		return object{"azureDisk": g.azureDisk(name)}
	default:
		return pick(g.dice, object{"cinder": object{"volumeID": name}}, object{"portworxVolume": object{"volumeID": name}})
	}
}
