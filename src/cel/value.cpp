#include "cel/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/go_quote.hpp"
#include "base/seeded_hash.hpp"
#include "cel/numbers.hpp"
#include "cel/times.hpp"

namespace berth::cel {
namespace {

struct TypeObject final : HeapObject {
  explicit TypeObject(TypePtr t) : type(std::move(t)) {}
  const TypePtr type;
};

struct OptionalObjectImpl final : HeapObject {
  explicit OptionalObjectImpl(Value v) : value(std::move(v)) {}
  const Value value;
};

std::int64_t CountCodePoints(std::string_view text) {
  std::int64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return count;
}

Value TooDeep() { return Value::Error("values are nested too deeply"); }

}  // namespace

StringObject::StringObject(std::string t) : text(std::move(t)), code_points(CountCodePoints(text)) {}

Value Value::Double(double value) { return {ValueKind::kDouble, std::bit_cast<std::uint64_t>(value)}; }
double Value::as_double() const { return std::bit_cast<double>(bits_); }

Value Value::String(std::string text) {
  return FromObject(ValueKind::kString, new StringObject(std::move(text)));
}
Value Value::Bytes(std::string bytes) {
  return FromObject(ValueKind::kBytes, new StringObject(std::move(bytes)));
}
Value Value::Error(std::string message) {
  return FromObject(ValueKind::kError, new StringObject(std::move(message)));
}
Value Value::NoSuchOverload() {
  static const Value error = Error("no such overload");
  return error;
}
Value Value::Timestamp(std::int64_t seconds, std::int32_t nanoseconds, std::int32_t offset) {
  return FromObject(ValueKind::kTimestamp, new TimestampObject(seconds, nanoseconds, offset));
}

Value Value::List(std::vector<Value> elements) {
  int depth = 0;
  for (const Value& element : elements) depth = std::max(depth, DepthOf(element));
  if (depth >= kMaxValueDepth) return TooDeep();
  auto* list = new ListObject;
  list->size = static_cast<std::int64_t>(elements.size());
  list->elements = std::move(elements);
  list->depth = depth + 1;
  return FromObject(ValueKind::kList, list);
}

Value Value::Map(std::vector<std::pair<Value, Value>> entries) {
  return MapWithDefault(std::move(entries), {});
}

Value Value::MapWithDefault(std::vector<std::pair<Value, Value>> entries, Value fallback) {
  int depth = 0;
  for (const auto& [key, value] : entries) depth = std::max({depth, DepthOf(key), DepthOf(value)});
  if (depth >= kMaxValueDepth) return TooDeep();
  auto* map = new MapObject;
  map->fallback = std::move(fallback);
  map->depth = depth + 1;
  map->entries.reserve(entries.size());
  for (auto& [key, value] : entries) map->Set(std::move(key), std::move(value));
  return FromObject(ValueKind::kMap, map);
}

Value Value::Type(TypePtr type) { return FromObject(ValueKind::kType, new TypeObject(std::move(type))); }
const TypePtr& Value::type() const { return static_cast<const TypeObject&>(*object()).type; }

Value Value::Optional(Value value) {
  if (DepthOf(value) >= kMaxValueDepth) return TooDeep();
  return FromObject(ValueKind::kOptional, new OptionalObjectImpl(std::move(value)));
}
Value Value::NoOptional() {
  static const Value none = Optional({});
  return none;
}
const Value& Value::optional() const { return static_cast<const OptionalObjectImpl&>(*object()).value; }

int DepthOf(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kList:
      return value.list().depth;
    case ValueKind::kMap:
      return value.map().depth;
    case ValueKind::kOptional:
      return DepthOf(value.optional()) + 1;
    default:
      return 0;
  }
}

const Value& ListObject::At(std::int64_t index) const {
  const ListObject* list = this;
  while (list->concatenated()) {
    const ListObject& left = list->first.list();
    if (index < left.size) {
      list = &left;
    } else {
      index -= left.size;
      list = &list->second.list();
    }
  }
  return list->elements[static_cast<std::size_t>(index)];
}

// ---- maps

namespace {

constexpr std::size_t kIndexedSize = 12;  // smaller maps are searched linearly

// Go's equality of map keys: numbers of different types are different, containers are equal to themselves.
bool SameKey(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::kString:
      return a.object() == b.object() || a.text() == b.text();
    case ValueKind::kDouble:
      return a.as_double() == b.as_double();
    case ValueKind::kTimestamp:
      return a.timestamp().seconds == b.timestamp().seconds &&
             a.timestamp().nanoseconds == b.timestamp().nanoseconds &&
             a.timestamp().offset == b.timestamp().offset;
    default:
      return a.as_uint() == b.as_uint();
  }
}

std::size_t HashKey(const Value& key) {
  if (key.kind() == ValueKind::kString) return SeededHash()(key.text());
  std::uint64_t bits = key.as_uint();
  if (key.kind() == ValueKind::kDouble && key.as_double() == 0) bits = 0;
  if (key.kind() == ValueKind::kTimestamp) bits = static_cast<std::uint64_t>(key.timestamp().seconds);
  return SeededHash()(std::string_view(reinterpret_cast<const char*>(&bits), sizeof bits));
}

}  // namespace

std::size_t MapObject::IndexOf(const Value& key) const {
  if (index_.empty()) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (SameKey(entries[i].first, key)) return i;
    }
    return entries.size();
  }
  for (std::size_t at = HashKey(key) & (index_.size() - 1); index_[at] != 0;
       at = (at + 1) & (index_.size() - 1)) {
    if (SameKey(entries[index_[at] - 1].first, key)) return index_[at] - 1;
  }
  return entries.size();
}

void MapObject::Reindex() {
  index_.clear();
  if (entries.size() < kIndexedSize) return;
  index_.resize(std::bit_ceil(entries.size() * 3));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::size_t at = HashKey(entries[i].first) & (index_.size() - 1);
    while (index_[at] != 0) at = (at + 1) & (index_.size() - 1);
    index_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

const Value* MapObject::Find(std::string_view key) const {
  if (index_.empty()) {
    for (const Entry& entry : entries) {
      if (entry.first.kind() == ValueKind::kString && entry.first.text() == key) return &entry.second;
    }
    return nullptr;
  }
  return Find(Value::String(std::string(key)));
}

const Value* MapObject::FindExact(const Value& key) const {
  const std::size_t i = IndexOf(key);
  return i < entries.size() ? &entries[i].second : nullptr;
}

const Value* MapObject::Find(const Value& key) const {
  const auto exact = [this](const Value& k) { return FindExact(k); };
  if (const Value* found = exact(key)) return found;
  switch (key.kind()) {
    case ValueKind::kDouble:
      if (const auto i = ExactInt(key.as_double())) {
        if (const Value* found = exact(Value::Int(*i))) return found;
      }
      if (const auto u = ExactUint(key.as_double())) return exact(Value::Uint(*u));
      return nullptr;
    case ValueKind::kInt:
      return key.as_int() >= 0 ? exact(Value::Uint(key.as_uint())) : nullptr;
    case ValueKind::kUint:
      return key.as_int() >= 0 ? exact(Value::Int(key.as_int())) : nullptr;
    default:
      return nullptr;
  }
}

void MapObject::Set(Value key, Value value) {
  const std::size_t i = IndexOf(key);
  if (i < entries.size()) {
    entries[i].second = std::move(value);
    return;
  }
  entries.emplace_back(std::move(key), std::move(value));
  if (index_.empty() ? entries.size() >= kIndexedSize : entries.size() * 2 > index_.size()) {
    Reindex();
  } else if (!index_.empty()) {
    std::size_t at = HashKey(entries.back().first) & (index_.size() - 1);
    while (index_[at] != 0) at = (at + 1) & (index_.size() - 1);
    index_[at] = static_cast<std::uint32_t>(entries.size());
  }
}

void MapObject::Erase(const Value& key) {
  const std::size_t i = IndexOf(key);
  if (i == entries.size()) return;
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
  Reindex();
}

// ---- types

TypePtr RuntimeType(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kAbsent:
    case ValueKind::kNull:
      return NullType();
    case ValueKind::kBool:
      return BoolType();
    case ValueKind::kInt:
      return IntType();
    case ValueKind::kUint:
      return UintType();
    case ValueKind::kDouble:
      return DoubleType();
    case ValueKind::kDuration:
      return DurationType();
    case ValueKind::kString:
      return StringType();
    case ValueKind::kBytes:
      return BytesType();
    case ValueKind::kTimestamp:
      return TimestampType();
    case ValueKind::kList:
      return DynListType();
    case ValueKind::kMap:
      return DynMapType();
    case ValueKind::kType:
      return TypeType();
    case ValueKind::kOptional:
      return OptionalType();
    case ValueKind::kOpaque:
      return value.opaque().type();
    case ValueKind::kError:
      return ErrorType();
  }
  return ErrorType();
}

const std::string& RuntimeTypeName(const Value& value) {
  if (value.kind() == ValueKind::kOpaque) return value.opaque().type()->name;
  return RuntimeType(value)->name;  // all other types exist for ever
}

std::string GoTypeName(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kAbsent:
      return "<nil>";
    case ValueKind::kNull:
      return "types.Null";
    case ValueKind::kBool:
      return "types.Bool";
    case ValueKind::kInt:
      return "types.Int";
    case ValueKind::kUint:
      return "types.Uint";
    case ValueKind::kDouble:
      return "types.Double";
    case ValueKind::kDuration:
      return "types.Duration";
    case ValueKind::kString:
      return "types.String";
    case ValueKind::kBytes:
      return "types.Bytes";
    case ValueKind::kTimestamp:
      return "types.Timestamp";
    case ValueKind::kList:
      if (value.list().concatenated()) return "*types.concatList";
      return value.list().accumulator ? "*types.mutableList" : "*types.baseList";
    case ValueKind::kMap:
      if (!value.map().fallback.IsAbsent()) return "cel.mapper";
      return value.map().accumulator ? "*types.mutableMap" : "*types.baseMap";
    case ValueKind::kType:
      return "*types.Type";
    case ValueKind::kOptional:
      return "*types.Optional";
    case ValueKind::kOpaque:
      return value.opaque().GoTypeName();
    case ValueKind::kError:
      return "*types.Err";
  }
  return {};
}

bool MatchesRuntimeType(const Type& type, const Value& value) {
  const bool dynamic =
      type.kind == TypeKind::kDyn || type.kind == TypeKind::kAny || type.kind == TypeKind::kTypeParameter;
  if (!dynamic && type.name != RuntimeTypeName(value)) return false;
  if (type.kind == TypeKind::kList && value.kind() == ValueKind::kList) {
    return value.list().size == 0 || MatchesRuntimeType(*type.parameters[0], value.list().At(0));
  }
  if (type.kind == TypeKind::kMap && value.kind() == ValueKind::kMap) {
    const auto& entries = value.map().entries;
    return entries.empty() || (MatchesRuntimeType(*type.parameters[0], entries[0].first) &&
                               MatchesRuntimeType(*type.parameters[1], entries[0].second));
  }
  return true;
}

// ---- texts

std::string GoText(const Value& value, Budget& budget) {
  if (!budget.Spend(16)) return {};
  switch (value.kind()) {
    case ValueKind::kAbsent:
      return "<nil>";
    case ValueKind::kNull:
      return "0";
    case ValueKind::kBool:
      return value.as_bool() ? "true" : "false";
    case ValueKind::kInt:
      return std::to_string(value.as_int());
    case ValueKind::kUint:
      return std::to_string(value.as_uint());
    case ValueKind::kDouble:
      return FormatGoDouble(value.as_double());
    case ValueKind::kDuration:
      return GoDurationText(value.as_int());
    case ValueKind::kString:
    case ValueKind::kError:
      return budget.Spend(value.text().size()) ? value.text() : std::string();
    case ValueKind::kBytes: {
      if (!budget.Spend(4 * value.text().size())) return {};
      std::string text = "[";
      for (const unsigned char c : value.text()) {
        if (text.size() > 1) text += ' ';
        text += std::to_string(c);
      }
      return text + "]";
    }
    case ValueKind::kTimestamp:
      return GoTimestampText(value.timestamp());
    case ValueKind::kList: {
      std::string text = "[";
      for (std::int64_t i = 0; i < value.list().size && !budget.exhausted(); ++i) {
        if (i > 0) text += ", ";
        text += GoText(value.list().At(i), budget);
      }
      return text + "]";
    }
    case ValueKind::kMap: {
      std::string text = "{";
      for (const auto& [key, element] : value.map().entries) {
        if (budget.exhausted()) break;
        if (text.size() > 1) text += ", ";
        text += GoText(key, budget) + ": " + GoText(element, budget);
      }
      return text + "}";
    }
    case ValueKind::kType:
      return TypeText(*value.type());
    case ValueKind::kOptional:
      return value.optional().IsAbsent() ? "optional.none()"
                                         : "optional(" + GoText(value.optional(), budget) + ")";
    case ValueKind::kOpaque:
      return value.opaque().Text();
  }
  return {};
}

std::string FormatValue(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kAbsent:
      return "<nil>";
    case ValueKind::kNull:
      return "null";
    case ValueKind::kUint:
      return std::to_string(value.as_uint()) + "u";
    case ValueKind::kDouble: {
      const double number = value.as_double();
      if (std::isnan(number)) return "double(\"NaN\")";
      if (std::isinf(number)) return number < 0 ? "double(\"-Infinity\")" : "double(\"Infinity\")";
      std::string text = FormatFixed(number);
      return text.find('.') == text.npos ? text + ".0" : text;
    }
    case ValueKind::kDuration:
      return "duration(\"" + DurationSeconds(value.as_int()) + "\")";
    case ValueKind::kString:
      return GoQuote(value.text());
    case ValueKind::kBytes: {
      std::string text = "b\"";
      for (const unsigned char c : value.text()) text += fmt::format("\\{:03o}", c);
      return text + "\"";
    }
    case ValueKind::kTimestamp: {
      const TimestampObject& t = value.timestamp();
      return "timestamp(\"" + FormatTimestamp(TimestampObject(t.seconds, t.nanoseconds, 0)) + "\")";
    }
    case ValueKind::kList: {
      std::string text = "[";
      for (std::int64_t i = 0; i < value.list().size; ++i) {
        if (i > 0) text += ", ";
        text += FormatValue(value.list().At(i));
      }
      return text + "]";
    }
    case ValueKind::kMap: {
      std::vector<std::pair<std::string, std::string>> texts;
      for (const auto& [key, element] : value.map().entries)
        texts.emplace_back(FormatValue(key), FormatValue(element));
      std::stable_sort(texts.begin(), texts.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      std::string text = "{";
      for (const auto& [key, element] : texts) text += (text.size() > 1 ? ", " : "") + key + ": " + element;
      return text + "}";
    }
    case ValueKind::kType:
      return value.type()->name;
    case ValueKind::kOptional:
      return value.optional().IsAbsent() ? "optional.none()"
                                         : "optional.of(" + FormatValue(value.optional()) + ")";
    default: {
      Budget unlimited(std::numeric_limits<std::uint64_t>::max());
      return GoText(value, unlimited);
    }
  }
}

// ---- comparison

namespace {

int Order(auto a, auto b) { return a < b ? -1 : a > b ? 1 : 0; }

int CompareDoubleInt(double d, std::int64_t i) {
  if (d < static_cast<double>(std::numeric_limits<std::int64_t>::min())) return -1;
  if (d > static_cast<double>(std::numeric_limits<std::int64_t>::max())) return 1;
  return Order(d, static_cast<double>(i));
}

int CompareDoubleUint(double d, std::uint64_t u) {
  if (d < 0) return -1;
  if (d > static_cast<double>(std::numeric_limits<std::uint64_t>::max())) return 1;
  return Order(d, static_cast<double>(u));
}

int CompareIntUint(std::int64_t i, std::uint64_t u) {
  if (i < 0 || u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return -1;
  return Order(i, static_cast<std::int64_t>(u));
}

bool IsNumber(const Value& value) {
  return value.kind() == ValueKind::kInt || value.kind() == ValueKind::kUint ||
         value.kind() == ValueKind::kDouble;
}

// Both are numbers and not NaN.
int CompareNumbers(const Value& a, const Value& b) {
  const auto kinds = std::pair(a.kind(), b.kind());
  using K = ValueKind;
  if (kinds == std::pair(K::kInt, K::kInt)) return Order(a.as_int(), b.as_int());
  if (kinds == std::pair(K::kUint, K::kUint)) return Order(a.as_uint(), b.as_uint());
  if (kinds == std::pair(K::kDouble, K::kDouble)) return Order(a.as_double(), b.as_double());
  if (kinds == std::pair(K::kDouble, K::kInt)) return CompareDoubleInt(a.as_double(), b.as_int());
  if (kinds == std::pair(K::kInt, K::kDouble)) return -CompareDoubleInt(b.as_double(), a.as_int());
  if (kinds == std::pair(K::kDouble, K::kUint)) return CompareDoubleUint(a.as_double(), b.as_uint());
  if (kinds == std::pair(K::kUint, K::kDouble)) return -CompareDoubleUint(b.as_double(), a.as_uint());
  if (kinds == std::pair(K::kInt, K::kUint)) return CompareIntUint(a.as_int(), b.as_uint());
  return -CompareIntUint(b.as_int(), a.as_uint());
}

bool IsNaN(const Value& value) { return value.kind() == ValueKind::kDouble && std::isnan(value.as_double()); }

// What a comparison of elements takes, in units of a budget. Maps look the other's element up, and lists that
// were concatenated search it.
constexpr std::uint64_t kUnitsPerElement = 4;
constexpr std::uint64_t kUnitsPerEntry = 16;

std::uint64_t UnitsPerElement(const ListObject& list) {
  return kUnitsPerElement + (list.concatenated() ? static_cast<std::uint64_t>(list.depth) : 0);
}

Value EqualLists(const Value& a, const Value& b, Budget& budget) {
  const ListObject& x = a.list();
  const ListObject& y = b.list();
  if (x.size != y.size) return Value::Bool(false);
  const std::uint64_t units = std::max(UnitsPerElement(x), UnitsPerElement(y));
  Value error;
  for (std::int64_t i = 0; i < x.size; ++i) {
    if (!budget.Spend(units)) return Value::Bool(false);
    Value equal = Equals(x.At(i), y.At(i), budget);
    if (equal.IsFalse()) return equal;
    // Only a concatenated list on the left reports errors; any other list ignores them.
    if (equal.IsError() && error.IsAbsent() && x.concatenated()) error = std::move(equal);
  }
  return error.IsAbsent() ? Value::Bool(true) : error;
}

Value EqualMaps(const MapObject& a, const MapObject& b, Budget& budget) {
  if (a.entries.size() != b.entries.size()) return Value::Bool(false);
  for (const auto& [key, value] : a.entries) {
    if (!budget.Spend(kUnitsPerEntry)) return Value::Bool(false);
    const Value* other = b.Find(key);
    if (other == nullptr && !b.fallback.IsAbsent()) other = &b.fallback;
    if (other == nullptr || Equals(value, *other, budget).IsFalse()) return Value::Bool(false);
  }
  return Value::Bool(true);
}

bool EqualTexts(const Value& a, const Value& b, Budget& budget) {
  if (a.object() == b.object()) return true;
  if (a.text().size() != b.text().size()) return false;
  return budget.Spend(a.text().size() / 16) && a.text() == b.text();
}

}  // namespace

Value Equals(const Value& a, const Value& b, Budget& budget) {
  const bool a_null = a.kind() == ValueKind::kNull;
  const bool b_null = b.kind() == ValueKind::kNull;
  if (a_null || b_null) return Value::Bool(a_null == b_null);
  return ElementEquals(a, b, budget);
}

Value ElementEquals(const Value& a, const Value& b, Budget& budget) {
  if (IsNumber(a)) {
    return Value::Bool(IsNumber(b) && !IsNaN(a) && !IsNaN(b) && CompareNumbers(a, b) == 0);
  }
  if (a.kind() == ValueKind::kOpaque) {
    if (b.IsError()) return b;
    if (b.kind() != ValueKind::kOpaque || a.opaque().type()->name != b.opaque().type()->name) {
      return Value::NoSuchOverload();
    }
    return a.opaque().Equal(b.opaque());
  }
  if (a.IsError()) return a;
  if (a.kind() != b.kind()) return Value::Bool(false);
  switch (a.kind()) {
    case ValueKind::kString:
    case ValueKind::kBytes:
      return Value::Bool(EqualTexts(a, b, budget));
    case ValueKind::kTimestamp:
      return Value::Bool(a.timestamp().seconds == b.timestamp().seconds &&
                         a.timestamp().nanoseconds == b.timestamp().nanoseconds);
    case ValueKind::kList:
      return EqualLists(a, b, budget);
    case ValueKind::kMap:
      return EqualMaps(a.map(), b.map(), budget);
    case ValueKind::kType:
      return Value::Bool(a.type()->name == b.type()->name);
    case ValueKind::kOptional: {
      const Value& x = a.optional();
      const Value& y = b.optional();
      if (x.IsAbsent() || y.IsAbsent()) return Value::Bool(x.IsAbsent() == y.IsAbsent());
      return ElementEquals(x, y, budget);
    }
    default:
      return Value::Bool(a.as_uint() == b.as_uint());
  }
}

bool IsComparable(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble:
    case ValueKind::kDuration:
    case ValueKind::kString:
    case ValueKind::kBytes:
    case ValueKind::kTimestamp:
      return true;
    default:
      return false;
  }
}

Value Compare(const Value& a, const Value& b) {
  if (IsNumber(a)) {
    // A NaN on the left is found before the right operand is examined.
    if (IsNaN(a) || IsNaN(b)) return Value::Error("NaN values cannot be ordered");
    if (IsNumber(b)) return Value::Int(CompareNumbers(a, b));
  } else if (a.kind() == b.kind()) {
    switch (a.kind()) {
      case ValueKind::kBool:
        return Value::Int(Order(a.as_bool(), b.as_bool()));
      case ValueKind::kDuration:
        return Value::Int(Order(a.as_int(), b.as_int()));
      case ValueKind::kString:
      case ValueKind::kBytes:
        return Value::Int(Order(a.text().compare(b.text()), 0));
      case ValueKind::kTimestamp:
        return Value::Int(Order(std::pair(a.timestamp().seconds, a.timestamp().nanoseconds),
                                std::pair(b.timestamp().seconds, b.timestamp().nanoseconds)));
      default:
        break;
    }
  }
  return b.IsError() ? b : Value::NoSuchOverload();
}

bool ListContains(const Value& list, const Value& value, Budget& budget) {
  for (std::int64_t i = 0; i < list.list().size; ++i) {
    if (!budget.Spend(1)) return false;
    if (ElementEquals(value, list.list().At(i), budget).IsTrue()) return true;
  }
  return false;
}

Value Concatenate(const Value& a, const Value& b) {
  if (a.list().accumulator) {
    // The accumulator of a comprehension grows in place.
    ListObject& accumulator = a.mutable_list();
    const std::int64_t count = b.list().size;
    for (std::int64_t i = 0; i < count; ++i) accumulator.elements.push_back(Value(b.list().At(i)));
    accumulator.size += count;
    accumulator.depth = std::max(accumulator.depth, b.list().depth);
    return a;
  }
  if (a.list().size == 0) return b;
  if (b.list().size == 0) return a;
  const int depth = std::max(a.list().depth, b.list().depth);
  if (depth >= kMaxValueDepth) return TooDeep();
  // The length of a list is an int; cel-go fails in the same situation.
  if (a.list().size > std::numeric_limits<std::int64_t>::max() - b.list().size) {
    return Value::Error("integer overflow");
  }
  auto* list = new ListObject;
  list->first = a;
  list->second = b;
  list->size = a.list().size + b.list().size;
  list->depth = depth + 1;
  return Value::FromObject(ValueKind::kList, list);
}

std::uint64_t SizeForCost(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kString:
      return static_cast<std::uint64_t>(value.code_points());
    case ValueKind::kBytes:
      return value.text().size();
    case ValueKind::kList:
      return static_cast<std::uint64_t>(value.list().size);
    case ValueKind::kMap:
      return value.map().entries.size();
    case ValueKind::kOpaque:
      return static_cast<std::uint64_t>(value.opaque().size());
    default:
      return 1;
  }
}

Value ListIndex(const Value& index) {
  const auto unsupported = [&] {
    Budget small(100);
    return Value::Error("unsupported index value " + GoText(index, small) + " in list");
  };
  switch (index.kind()) {
    case ValueKind::kInt:
      return index;
    case ValueKind::kUint:
      return index.as_int() >= 0 ? Value::Int(index.as_int()) : unsupported();
    case ValueKind::kDouble: {
      const auto exact = ExactInt(index.as_double());
      return exact ? Value::Int(*exact) : unsupported();
    }
    default:
      return Value::Error("unsupported index type '" + TypeText(*RuntimeType(index)) + "' in list");
  }
}

}  // namespace berth::cel
