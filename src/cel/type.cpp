#include "cel/type.hpp"

#include <limits>

namespace berth::cel {
namespace {

TypePtr Make(TypeKind kind, std::string name, std::vector<TypePtr> parameters = {}) {
  std::uint64_t size = 1;
  for (const TypePtr& parameter : parameters) {
    const bool overflow = parameter->size > std::numeric_limits<std::uint32_t>::max();
    size = overflow ? parameter->size : size + parameter->size;
  }
  return std::make_shared<const Type>(Type{kind, std::move(name), std::move(parameters), size});
}

bool IsDynamic(const Type& type) {
  return type.kind == TypeKind::kDyn || type.kind == TypeKind::kAny || type.kind == TypeKind::kTypeParameter;
}

template <class Format>
std::string WithParameters(const std::string& name, const Type& type, Format format) {
  std::string text = name + "(";
  for (std::size_t i = 0; i < type.parameters.size(); ++i) {
    if (i > 0) text += ", ";
    text += format(*type.parameters[i]);
  }
  return text + ")";
}

}  // namespace

#define BERTH_CEL_TYPE(function, kind, name)                  \
  const TypePtr& function() {                                 \
    static const TypePtr type = Make(TypeKind::kind, (name)); \
    return type;                                              \
  }
BERTH_CEL_TYPE(DynType, kDyn, "dyn")
BERTH_CEL_TYPE(AnyType, kAny, "google.protobuf.Any")
BERTH_CEL_TYPE(BoolType, kBool, "bool")
BERTH_CEL_TYPE(BytesType, kBytes, "bytes")
BERTH_CEL_TYPE(DoubleType, kDouble, "double")
BERTH_CEL_TYPE(DurationType, kDuration, "google.protobuf.Duration")
BERTH_CEL_TYPE(ErrorType, kError, "error")
BERTH_CEL_TYPE(IntType, kInt, "int")
BERTH_CEL_TYPE(NullType, kNull, "null_type")
BERTH_CEL_TYPE(StringType, kString, "string")
BERTH_CEL_TYPE(TimestampType, kTimestamp, "google.protobuf.Timestamp")
BERTH_CEL_TYPE(TypeType, kType, "type")
BERTH_CEL_TYPE(UintType, kUint, "uint")
#undef BERTH_CEL_TYPE

const TypePtr& DynListType() {
  static const TypePtr type = ListOf(DynType());
  return type;
}

const TypePtr& DynMapType() {
  static const TypePtr type = MapOf(DynType(), DynType());
  return type;
}

const TypePtr& OptionalType() {
  static const TypePtr type = OptionalOf(DynType());
  return type;
}

TypePtr ListOf(TypePtr element) { return Make(TypeKind::kList, "list", {std::move(element)}); }
TypePtr MapOf(TypePtr key, TypePtr value) {
  return Make(TypeKind::kMap, "map", {std::move(key), std::move(value)});
}
TypePtr OptionalOf(TypePtr value) { return Make(TypeKind::kOpaque, "optional_type", {std::move(value)}); }
TypePtr OpaqueOf(std::string name, std::vector<TypePtr> parameters) {
  return Make(TypeKind::kOpaque, std::move(name), std::move(parameters));
}
TypePtr ObjectOf(std::string name) { return Make(TypeKind::kStruct, std::move(name)); }
TypePtr TypeOf(TypePtr type) { return Make(TypeKind::kType, "type", {std::move(type)}); }
TypePtr TypeParameter(std::string name) { return Make(TypeKind::kTypeParameter, std::move(name)); }

bool SameType(const Type& a, const Type& b, bool names) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.size != b.size || a.parameters.size() != b.parameters.size()) return false;
  if ((names || a.kind != TypeKind::kTypeParameter) && a.name != b.name) return false;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    if (!SameType(*a.parameters[i], *b.parameters[i], names)) return false;
  }
  return true;
}

bool AssignableType(const Type& to, const Type& from) {
  if (&to == &from || IsDynamic(to)) return true;
  if (to.kind != from.kind || to.name != from.name || to.parameters.size() != from.parameters.size())
    return false;
  for (std::size_t i = 0; i < to.parameters.size(); ++i) {
    if (!AssignableType(*to.parameters[i], *from.parameters[i])) return false;
  }
  return true;
}

std::string FormatType(const Type& type) {
  switch (type.kind) {
    case TypeKind::kAny:
      return "any";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kError:
      return "!error!";
    case TypeKind::kNull:
      return "null";
    case TypeKind::kTimestamp:
      return "timestamp";
    default:
      break;
  }
  return type.parameters.empty() ? type.name : WithParameters(type.name, type, FormatType);
}

std::string TypeText(const Type& type) {
  if (type.kind == TypeKind::kTypeParameter) return "<" + type.name + ">";
  return type.parameters.empty() ? type.name : WithParameters(type.name, type, TypeText);
}

}  // namespace berth::cel
