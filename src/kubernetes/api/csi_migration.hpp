// Volumes of plugins that used to be part of Kubernetes, as the CSI drivers that took over from them see them
// (csi-translation-lib of v1.37).
#pragma once

#include <string>
#include <string_view>

#include "kubernetes/api/objects.hpp"
#include "base/result.hpp"

namespace berth::api {

struct CsiMigration {
  std::string_view plugin;  // "kubernetes.io/aws-ebs"
  std::string_view driver;  // "ebs.csi.aws.com"
  // Nodes run the CSI driver instead of the plugin: as far as a scheduler cares the volume is the driver's.
  bool complete = false;
};

// Null for sources that nobody took over.
const CsiMigration* MigrationOf(Volume::Source source);
const CsiMigration* MigrationOf(PersistentVolume::Source source);
const CsiMigration* MigrationOfPlugin(std::string_view plugin);

// What the driver calls the volume. The sources must have a migration; errors are the original's texts.
Expected<std::string> CsiHandleOf(const Volume& volume);
Expected<std::string> CsiHandleOf(const PersistentVolume& volume);

// spec.nodeAffinity.required in the words of the driver: its topology key instead of the zone's labels, and
// the zones that only the volume's labels know.
CowPtr<NodeSelector> CsiAffinityOf(const PersistentVolume& volume);

}  // namespace berth::api
