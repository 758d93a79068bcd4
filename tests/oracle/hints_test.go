package main

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestTheRecordedHintsAreStillThoseOfTheRealPlugins(t *testing.T) {
	ctx := silence()
	counts := newHintCounts()
	err := readRecording("hints.ndjson.zst", func(line []byte) error {
		var recorded hintScenario
		if err := json.Unmarshal(line, &recorded); err != nil {
			return err
		}
		now := recorded
		now.Steps = slices.Clone(recorded.Steps)
		if err := now.evaluate(ctx); err != nil {
			return err
		}
		text, err := toJSON(now)
		if err != nil {
			return err
		}
		if string(text) != string(line) {
			t.Errorf("seed %d: the real plugins return other hints now; record them again", recorded.Seed)
		}
		counts.add(&recorded)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// A hint that is never evaluated both ways is not compared.
	for _, key := range []string{
		"DynamicResources resource.k8s.io/ResourceClaimAdd", "DynamicResources resource.k8s.io/ResourceClaimDelete",
		"DynamicResources resource.k8s.io/ResourceClaimUpdate", "NodeResourcesFit resource.k8s.io/DeviceClassUpdate",
		"InterPodAffinity AssignedPodAdd", "InterPodAffinity AssignedPodDelete", "InterPodAffinity AssignedPodUpdatePodLabel",
		"InterPodAffinity NodeAdd", "InterPodAffinity NodeUpdateNodeLabel", "NodeAffinity NodeAdd", "NodeAffinity NodeUpdateNodeLabel",
		"NodeDeclaredFeatures TargetPodUpdate", "NodePorts AssignedPodDelete", "NodeResourcesFit AssignedPodDelete",
		"NodeResourcesFit AssignedPodUpdatePodScaleDown", "NodeResourcesFit NodeAdd", "NodeResourcesFit NodeUpdateNodeAllocatable",
		"NodeUnschedulable NodeAdd", "NodeUnschedulable NodeUpdateNodeTaint", "NodeUnschedulable TargetPodUpdatePodToleration",
		"NodeVolumeLimits AssignedPodDelete", "NodeVolumeLimits PersistentVolumeClaimAdd", "NodeVolumeLimits storage.k8s.io/CSINodeUpdate",
		"NodeVolumeLimits storage.k8s.io/VolumeAttachmentDelete", "PodTopologySpread AssignedPodAdd", "PodTopologySpread AssignedPodDelete",
		"PodTopologySpread AssignedPodUpdatePodLabel", "PodTopologySpread NodeAdd", "PodTopologySpread NodeDelete",
		"PodTopologySpread NodeUpdateNodeLabel", "PodTopologySpread NodeUpdateNodeTaint", "PodTopologySpread TargetPodUpdatePodLabel",
		"TaintToleration NodeAdd", "TaintToleration NodeUpdateNodeTaint", "VolumeBinding PersistentVolumeClaimAdd",
		"VolumeBinding PersistentVolumeClaimUpdate", "VolumeBinding storage.k8s.io/CSINodeUpdate",
		"VolumeBinding storage.k8s.io/CSIStorageCapacityUpdate", "VolumeBinding storage.k8s.io/StorageClassUpdate",
		"VolumeRestrictions AssignedPodDelete", "VolumeRestrictions PersistentVolumeClaimAdd", "VolumeZone PersistentVolumeClaimAdd",
		"VolumeZone PersistentVolumeClaimUpdate", "VolumeZone PersistentVolumeUpdate", "VolumeZone storage.k8s.io/StorageClassAdd",
	} {
		letters := counts.byPlugin[key]
		if letters['Q']+letters['q'] == 0 || letters['S']+letters['s'] == 0 {
			t.Errorf("%s: queue %d, skip %d", key, letters['Q']+letters['q'], letters['S']+letters['s'])
		}
	}
}

// Every change must be possible: no object is deleted or updated that does not exist, and identities are constant.
func TestChangesKeepIdentities(t *testing.T) {
	for seed := uint64(1); seed <= 30; seed++ {
		s, err := generateHints(silence(), seed, mixed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		uids := make(map[string]string)
		for _, step := range s.Steps {
			if step.Object == nil {
				delete(uids, step.Kind+step.Key)
				continue
			}
			var o struct {
				Metadata struct{ Name, Namespace, UID string }
			}
			if err := json.Unmarshal(step.Object, &o); err != nil {
				t.Fatal(err)
			}
			if known, ok := uids[step.Kind+step.Key]; ok && known != o.Metadata.UID {
				t.Errorf("seed %d: %s %s: UID %q instead of %q", seed, step.Kind, step.Key, o.Metadata.UID, known)
			}
			uids[step.Kind+step.Key] = o.Metadata.UID
		}
	}
}
