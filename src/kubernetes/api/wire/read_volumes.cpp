// A pod's volumes, field by field. Field numbers are those of generated.proto in k8s.io/api v0.37.
#include <algorithm>
#include <array>

#include "kubernetes/api/wire/message.hpp"

namespace berth::api::wire {
namespace {

// A volume source; most have only `id` and readOnly. Number 0: the source has no such field.
struct SourceFields {
  std::uint32_t number;
  std::string_view name;
  Volume::Source source;
  std::uint32_t id;
  std::uint32_t read_only;
  std::uint32_t pool = 0;
  std::uint32_t monitors = 0;
  std::uint32_t kind = 0;
};
constexpr std::array<SourceFields, 11> kSources = {{
    {3, "gcePersistentDisk", Volume::Source::kGcePersistentDisk, 1, 4},
    {4, "awsElasticBlockStore", Volume::Source::kAwsElasticBlockStore, 1, 4},
    {8, "iscsi", Volume::Source::kIscsi, 2, 6},
    {10, "persistentVolumeClaim", Volume::Source::kPersistentVolumeClaim, 1, 2},
    {11, "rbd", Volume::Source::kRbd, 2, 8, 4, 1},
    {13, "cinder", Volume::Source::kCinder, 1, 3},
    {18, "azureFile", Volume::Source::kAzureFile, 2, 3},
    {20, "vsphereVolume", Volume::Source::kVsphere, 1, 0},
    {22, "azureDisk", Volume::Source::kAzureDisk, 2, 5, 0, 0, 6},
    {24, "portworxVolume", Volume::Source::kPortworx, 1, 3},
    {28, "csi", Volume::Source::kCsi, 1, 2},
}};

void ReadSource(Message in, const SourceFields& fields, Volume& out) {
  out.source = fields.source;
  Volume::Rbd rbd;
  while (in.next()) {
    if (in.tag() == fields.id) {
      Take(in, out.id);
    } else if (in.tag() == fields.read_only) {
      Take(in, out.read_only);
    } else if (in.tag() == fields.pool) {
      Take(in, rbd.pool);
    } else if (in.tag() == fields.monitors) {
      Take(in, rbd.monitors);
    } else if (in.tag() == fields.kind) {
      Take(in, out.azure_kind);
    } else {
      in.skip();
    }
  }
  if (out.source == Volume::Source::kRbd) out.rbd = std::move(rbd);
}

constexpr std::uint32_t kHostPath = 1;
constexpr std::uint32_t kEmptyDir = 2;

// True if scheduling depends on volumes of this kind.
bool ReadVolumeSource(Message in, Volume& volume, PodSpec& spec) {
  bool kept = false;
  while (in.next()) {
    if (in.tag() == 29) {  // ephemeral
      TakeBytes(in);
      volume.source = Volume::Source::kEphemeral;
      kept = true;
    } else if (in.tag() == kHostPath || in.tag() == kEmptyDir) {
      TakeBytes(in);
      spec.local_storage = true;
    } else if (in.tag() == 30) {
      ReadFields(TakeMessage(in), At<1>("reference", spec.image_volumes.emplace_back()));
    } else if (const auto* source = std::ranges::find(kSources, in.tag(), &SourceFields::number);
               source != kSources.end()) {
      Within([&](Unreadable& error) { error.In(source->name); },
             [&] { ReadSource(TakeMessage(in), *source, volume); });
      kept = true;
    } else {
      in.skip();
    }
  }
  return kept;
}

}  // namespace

void TakeVolume(Message& at, PodSpec& out) {
  Message item = TakeMessage(at);
  Volume volume;
  bool kept = false;
  // In JSON the source is a sibling of the name; in protobuf it is a message of its own.
  ReadFields(item, At<1>("name", volume.name), At<2>("volumeSource", [&](Message& source) {
               kept |= ReadVolumeSource(TakeMessage(source), volume, out);
             }));
  if (kept) out.volumes.push_back(std::move(volume));
}

}  // namespace berth::api::wire
