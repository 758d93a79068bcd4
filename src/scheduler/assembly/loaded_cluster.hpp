// The objects of a cluster, from files or from list responses, before an engine receives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/text_map.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/dump.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::assembly {

// Defaults are filled in; later objects replace earlier ones with the same name. One thread.
class LoadedCluster {
 public:
  explicit LoadedCluster(const api::RetainedFields& retained) : decoder_(retained), others_(retained) {}

  // Loads objects, JSON or YAML. May be called repeatedly. Fails if the text cannot be parsed. `problems`
  // receives objects that were left out: "file: document 2, items[3]: Pod default/web:
  // spec.containers[0].image: expected a string, got a number".
  Expected<void> Load(std::string_view text, const std::string& file, std::vector<std::string>& problems);

  const std::map<std::string, api::NodePtr>& nodes() const { return nodes_; }
  // All pods, in the order of the input. A pod without a UID, or with that of another pod, gets one.
  const std::vector<api::PodPtr>& pods() const { return pods_; }
  // Null if there is no such pod ("namespace/name").
  api::PodPtr FindPod(const std::string& key) const;
  // All kinds but nodes and pods.
  const api::Dump& others() const { return others_; }
  // The kinds of the objects that were loaded, with their number; also kinds that no scheduler reads.
  const std::map<std::string, std::size_t>& kinds() const { return kinds_; }

  // What admission reads of a PriorityClass.
  struct PriorityClass {
    std::int32_t value = 0;
    bool is_default = false;      // of pods that name no class
    bool never_preempts = false;  // preemptionPolicy: Never
  };
  const std::map<std::string, PriorityClass>& priority_classes() const { return priority_classes_; }

 private:
  void AddPod(api::Pod pod);
  std::string AddPriorityClass(std::string_view json);
  // Returns an empty text, or the reason why the object is left out.
  std::string Add(const api::Document& document);

  api::Decoder decoder_;
  std::map<std::string, api::NodePtr> nodes_;
  std::vector<api::PodPtr> pods_;
  std::map<std::string, std::size_t> pod_index_;
  TextMap<std::string> uids_;  // the first pod with this UID
  api::Dump others_;
  std::map<std::string, std::size_t> kinds_;
  std::map<std::string, PriorityClass> priority_classes_;
};

}  // namespace berth::assembly
