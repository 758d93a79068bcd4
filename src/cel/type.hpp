// Types of the Common Expression Language, as the type checker and run-time type guards use them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cel {

enum class TypeKind : std::uint8_t {
  kDyn,
  kAny,
  kBool,
  kBytes,
  kDouble,
  kDuration,
  kError,
  kInt,
  kList,
  kMap,
  kNull,
  kOpaque,
  kString,
  kStruct,
  kTimestamp,
  kType,
  kTypeParameter,
  kUint,
};

struct Type;
using TypePtr = std::shared_ptr<const Type>;

// Immutable. `size` counts the nodes of the type when it is written out: types share their parameters, so a
// short expression can have a type that is exponentially long.
struct Type {
  TypeKind kind = TypeKind::kDyn;
  std::string name;  // run-time name: "int", "google.protobuf.Timestamp", "kubernetes.Quantity"
  std::vector<TypePtr> parameters;
  std::uint64_t size = 1;
};

// The simple types; each is one object for the whole program.
const TypePtr& DynType();
const TypePtr& AnyType();
const TypePtr& BoolType();
const TypePtr& BytesType();
const TypePtr& DoubleType();
const TypePtr& DurationType();
const TypePtr& ErrorType();
const TypePtr& IntType();
const TypePtr& NullType();
const TypePtr& StringType();
const TypePtr& TimestampType();
const TypePtr& TypeType();
const TypePtr& UintType();
const TypePtr& DynListType();   // list(dyn)
const TypePtr& DynMapType();    // map(dyn, dyn)
const TypePtr& OptionalType();  // optional_type(dyn)

TypePtr ListOf(TypePtr element);
TypePtr MapOf(TypePtr key, TypePtr value);
TypePtr OptionalOf(TypePtr value);
TypePtr OpaqueOf(std::string name, std::vector<TypePtr> parameters = {});
TypePtr ObjectOf(std::string name);
TypePtr TypeOf(TypePtr type);
TypePtr TypeParameter(std::string name);

// Equality of kind, name and parameters. `names`: type parameters must have the same name, too.
bool SameType(const Type& a, const Type& b, bool names = true);
// Whether a value of type `from` is assignable to `to` without type parameters.
bool AssignableType(const Type& to, const Type& from);

// As error messages name a type: "list(int)", "timestamp", "null".
std::string FormatType(const Type& type);
// As cel-go's Type.String(): "google.protobuf.Timestamp", "<T>" for a type parameter.
std::string TypeText(const Type& type);

}  // namespace berth::cel
