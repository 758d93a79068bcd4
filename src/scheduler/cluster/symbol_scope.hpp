// Interns symbols that are removed after their last use: those of pods and volumes.
#pragma once

#include <string_view>
#include <vector>

#include "scheduler/cluster/ids.hpp"

namespace berth::cluster {

// One entry per use; permanent symbols are not listed.
struct SymbolReferences {
  std::vector<NodeNameId> node_names;
  std::vector<LabelKeyId> keys;
  std::vector<LabelId> labels;
  std::vector<ResourceId> resources;
  std::vector<ImageId> images;
  std::vector<AddressId> addresses;

  std::size_t size() const;
};

// Interns the symbols of one object. Scheduler loop only.
class SymbolScope {
 public:
  // The table must outlive this object.
  explicit SymbolScope(SymbolTable& symbols) : symbols_(symbols) {}
  // Ends the uses of all symbols unless Lease was called.
  ~SymbolScope();
  SymbolScope(const SymbolScope&) = delete;
  SymbolScope& operator=(const SymbolScope&) = delete;

  // As the functions of SymbolTable.
  LabelKeyId InternKey(std::string_view key);
  // The key must be permanent or interned by this scope.
  LabelId InternLabel(LabelKeyId key, std::string_view value);
  ResourceId InternResource(std::string_view name);
  NodeNameId InternNodeName(std::string_view name);
  ImageId InternImage(std::string_view name);
  AddressId InternAddress(std::string_view address);

  SymbolTable& symbols() { return symbols_; }

  // To be stored beside the ids, which stay valid while a copy of the lease exists. Empty for most pods:
  // labels, resources and topology keys that nodes have are permanent. Any thread may drop a lease. Nothing
  // may be interned afterwards.
  SymbolLease Lease();

 private:
  SymbolTable& symbols_;
  SymbolReferences references_;
};

}  // namespace berth::cluster
