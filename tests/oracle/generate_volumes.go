package main

import "fmt"

// storage contains the volumes of a cluster. Claims and volumes are drawn along with the pods that use them.
type storage struct {
	objects array
	// claims by namespace, for pods that share them.
	claims map[string][]string
	// volumes are the names of PersistentVolumes, each with its driver.
	volumes []drawnVolume
	count   int
	// required is the driver that a node needs for any pod: at most one, because kube-scheduler reports any of several
	// missing ones.
	required string
	// alsoRequired is another one, in clusters in which chance decides.
	alsoRequired string
}

type drawnVolume struct{ name, driver string }

// Storage classes; there is no object of the last one.
var storageClasses = []struct{ name, mode, provisioner string }{
	{"fast", "WaitForFirstConsumer", "csi.example.com"},
	{"zonal", "WaitForFirstConsumer", "csi.example.com"},
	{"local", "WaitForFirstConsumer", "kubernetes.io/no-provisioner"},
	{"ebs", "WaitForFirstConsumer", "kubernetes.io/aws-ebs"},
	{"other", "WaitForFirstConsumer", "csi.other.com"},
	{"now", "Immediate", "csi.other.com"},
	{"gone", "", ""},
}

// waiting are the classes with binding mode WaitForFirstConsumer.
var waiting = []string{"fast", "fast", "fast", "zonal", "zonal", "local", "local", "local", "ebs", "other"}

// In-tree plugins that are migrated to CSI, with the zone label of their drivers.
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

// storageLabels sets the zone labels of CSI drivers on a node.
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

// podVolumes adds volumes to a pod. Most claims of assigned pods are bound.
func (g *generator) podVolumes(metadata, spec object, running bool) {
	if !g.chance(g.volumes) {
		return
	}
	namespace, ok := metadata["namespace"].(string)
	if !ok {
		namespace = "default"
	}
	volumes, _ := spec["volumes"].(array)
	for i := range pick(g.rng, 1, 1, 1, 2, 2, 3) {
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
			volume["csi"] = object{"driver": pick(g.rng, drivers...)}
		default:
			volume["emptyDir"] = object{}
		}
		volumes = append(volumes, volume)
	}
	spec["volumes"] = volumes
}

// claimFor returns the name of a new or shared claim.
func (g *generator) claimFor(namespace string, running bool) string {
	if g.chance(g.unusual * 0.05) {
		return ""
	}
	if g.chance(0.02) {
		return "missing"
	}
	if claims := g.storage.claims[namespace]; len(claims) > 0 && g.chance(0.35) {
		return pick(g.rng, claims...)
	}
	name := fmt.Sprintf("claim-%d", g.number())
	g.claim(namespace, name, nil, running)
	g.storage.claims[namespace] = append(g.storage.claims[namespace], name)
	return name
}

// ephemeral draws a volume whose claim a controller creates from the pod's template.
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

// claim draws a PersistentVolumeClaim and its volume.
func (g *generator) claim(namespace, name string, owners array, running bool) {
	uid := fmt.Sprintf("claim-uid-%d", g.number())
	annotations := object{}
	metadata := object{"name": name, "namespace": namespace, "uid": uid, "annotations": annotations}
	if len(owners) > 0 {
		metadata["ownerReferences"] = owners
	}
	spec := object{"accessModes": array{pick(g.rng, "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOncePod")}}
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
		spec["storageClassName"] = pick(g.rng, "", "gone")
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

// boundClaim is bound to a volume, sometimes to a missing one or incompletely.
func (g *generator) boundClaim(annotations, spec, status, reference object, size int) {
	spec["storageClassName"] = pick(g.rng, "fast", "zonal", "local", "ebs", "now", "")
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

// waitingClaim is bound after a pod is scheduled.
func (g *generator) waitingClaim(annotations, spec, reference object, size int) {
	class := pick(g.rng, waiting...)
	spec["storageClassName"] = class
	if g.chance(0.06) {
		annotations["volume.beta.kubernetes.io/storage-class"] = class
	}
	if g.chance(0.1) {
		annotations["volume.kubernetes.io/selected-node"] = g.someNodeName()
	}
	if g.chance(0.08) {
		spec["selector"] = object{"matchLabels": object{"quality": "gold"}}
		if g.chance(g.unusual) {
			spec["selector"] = g.brokenSelector()
		}
	}
	if g.chance(0.06) {
		spec["volumeAttributesClassName"] = pick(g.rng, "quick", "")
	}
	if g.chance(0.12) {
		volume := g.volume(class, size+g.between(-1, 4)*512, pick(g.rng, "Available", "Available", "Pending"))
		claim := object{"namespace": reference["namespace"], "name": reference["name"]}
		if g.chance(0.5) {
			claim["uid"] = pick[any](g.rng, reference["uid"], reference["uid"], "old")
		}
		volume["spec"].(object)["claimRef"] = claim
	}
}
