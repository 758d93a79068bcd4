// Ids of the strings that decisions compare. The symbol table (scheduler/cluster/symbol_table.hpp) assigns
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/id.hpp"

namespace berth::cluster {

class SymbolTable;
struct SymbolReferences;

struct NodeNameTag;
struct LabelKeyTag;
struct LabelTag;
struct ResourceTag;
struct ImageTag;
struct AddressTag;
struct TaintListTag;
using NodeNameId = Id<NodeNameTag>;
using LabelKeyId = Id<LabelKeyTag>;
using LabelId = Id<LabelTag>;  // key and value
// cpu, memory, ephemeral-storage; then scalars in order of first occurrence
using ResourceId = Id<ResourceTag>;
using ImageId = Id<ImageTag>;
using AddressId = Id<AddressTag>;  // the host IP of a port
using TaintListId = Id<TaintListTag>;

inline constexpr ResourceId kCpu{0};
inline constexpr ResourceId kMemory{1};
inline constexpr ResourceId kEphemeralStorage{2};
inline constexpr std::size_t kFirstScalar = 3;

inline constexpr AddressId kAnyAddress{0};  // 0.0.0.0

// Protocol and port as one number; ports with equal numbers can conflict.
using PortId = std::uint64_t;

// Stored beside ids of pods' symbols: keeps them valid (symbol_scope.hpp). No part of an object's value.
struct SymbolLease {
  std::shared_ptr<const SymbolReferences> references;
  friend bool operator==(const SymbolLease&, const SymbolLease&) { return true; }
};

}  // namespace berth::cluster
