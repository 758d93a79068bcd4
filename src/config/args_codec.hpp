// Reading, defaulting, validation and writing of one plugin's arguments. Plugins register their codec with
// their factory.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "config/feature_gates.hpp"
#include "config/value.hpp"

namespace berth::config {

// How a plugin's arguments are completed, validated and written.
struct ArgsCodec {
  std::string kind;  // "VolumeBindingArgs"
  // Reads strictly and returns all fields as kube-scheduler writes them, with defaults; without kind and
  // apiVersion, which are accepted.
  std::function<Value(const Value& given, const FeatureGates& gates, Problems& problems)> complete;
  // Returns the errors of completed arguments, each with its path below `path`.
  std::function<std::vector<std::string>(const Value& completed, const std::string& path,
                                         const FeatureGates& gates)>
      validate;
  // kube-scheduler validates the arguments of NodeResourcesFit only when it builds the plugin.
  bool checked_by_plugin = false;
  // The kind belongs to kube-scheduler, so the arguments are written with kind and apiVersion.
  bool in_tree = true;
};

using ArgsCodecs = std::map<std::string, ArgsCodec, std::less<>>;  // by plugin

// Builds a codec from a typed reader, validator and writer.
template <class Args>
ArgsCodec MakeArgsCodec(std::string kind, Args (*decode)(const Value&, const FeatureGates&, Problems&),
                        std::vector<std::string> (*check)(const Args&, const std::string& path,
                                                          const FeatureGates&),
                        Value (*encode)(const Args&)) {
  ArgsCodec codec;
  codec.kind = std::move(kind);
  codec.complete = [decode, encode](const Value& given, const FeatureGates& gates, Problems& problems) {
    return encode(decode(given, gates, problems));
  };
  codec.validate = [decode, check](const Value& completed, const std::string& path,
                                   const FeatureGates& gates) {
    Problems ignored;  // a strict read has already succeeded
    return check(decode(completed, gates, ignored), path, gates);
  };
  return codec;
}

}  // namespace berth::config
