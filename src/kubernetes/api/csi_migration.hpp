// Translates volumes of in-tree plugins to the CSI drivers that replaced them (csi-translation-lib of v1.37).
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::api {

struct CsiMigration {
  std::string_view plugin;  // "kubernetes.io/aws-ebs"
  std::string_view driver;  // "ebs.csi.aws.com"
  // Nodes run the CSI driver instead of the plugin; for scheduling, the volume belongs to the driver.
  bool complete = false;
};

// Null for sources without a CSI replacement.
const CsiMigration* MigrationOf(Volume::Source source);
const CsiMigration* MigrationOf(PersistentVolume::Source source);
const CsiMigration* MigrationOfPlugin(std::string_view plugin);

// The CSI volume handle. The sources must have a migration; error texts are those of Kubernetes.
Expected<std::string> CsiHandleOf(const Volume& volume);
Expected<std::string> CsiHandleOf(const PersistentVolume& volume);

// spec.nodeAffinity.required translated for the CSI driver: its topology key instead of the zone labels, plus
// the zones that are given only by the volume's labels.
CowPtr<NodeSelector> CsiAffinityOf(const PersistentVolume& volume);

}  // namespace berth::api
