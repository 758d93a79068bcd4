// Values of the Common Expression Language at run time.
//
// A Value is 16 bytes: null, bool, int, uint, double and duration are stored in place; everything else is an
// immutable object with a thread-safe reference count, so that copies are cheap and constants may be used by
// several threads. Results, including error texts, are those of cel-go v0.29.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/type.hpp"

namespace berth::cel {

// What one evaluation may still spend on work that CEL's cost model does not count: bytes that are copied and
// elements that are visited. Selectors are written by users, and some functions are much more expensive than
// their cost.
class Budget {
 public:
  explicit Budget(std::uint64_t units) : left_(units) {}
  // False, now and from then on, if fewer than `units` are left.
  bool Spend(std::uint64_t units) {
    if (units > left_) exhausted_ = true;
    if (exhausted_) return false;
    left_ -= units;
    spent_ += units;
    return true;
  }
  bool exhausted() const { return exhausted_; }
  std::uint64_t spent() const { return spent_; }

 private:
  std::uint64_t left_;
  std::uint64_t spent_ = 0;
  bool exhausted_ = false;
};

enum class ValueKind : std::uint8_t {
  kAbsent,  // no value: an empty optional, a key that was not found
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kDuration,
  kString,  // from here on: objects
  kBytes,
  kTimestamp,
  kList,
  kMap,
  kType,
  kOptional,
  kOpaque,
  kError,
};

class Value;
struct StringObject;
struct TimestampObject;
struct ListObject;
struct MapObject;
struct OpaqueObject;

struct HeapObject {
  HeapObject() = default;
  HeapObject(const HeapObject&) = delete;
  HeapObject& operator=(const HeapObject&) = delete;
  virtual ~HeapObject() = default;
  mutable std::atomic<std::uint32_t> references = 1;
};

class Value {
 public:
  Value() = default;
  Value(const Value& other) : kind_(other.kind_), bits_(other.bits_) { Retain(); }
  Value(Value&& other) noexcept : kind_(other.kind_), bits_(other.bits_) { other.kind_ = ValueKind::kAbsent; }
  Value& operator=(const Value& other) {
    Value copy(other);
    return *this = std::move(copy);
  }
  Value& operator=(Value&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(bits_, other.bits_);
    return *this;
  }
  ~Value() { Release(); }

  static Value Null();
  static Value Bool(bool value);
  static Value Int(std::int64_t value);
  static Value Uint(std::uint64_t value);
  static Value Double(double value);
  static Value Duration(std::int64_t nanoseconds);
  static Value String(std::string text);
  static Value Bytes(std::string bytes);
  // `seconds` since 1970 in [-62135596800, 253402300799], `nanoseconds` in [0, 999999999]; `offset`: seconds
  // east of UTC, only for printing.
  static Value Timestamp(std::int64_t seconds, std::int32_t nanoseconds, std::int32_t offset = 0);
  static Value List(std::vector<Value> elements);
  static Value Map(std::vector<std::pair<Value, Value>> entries);
  // A map that returns `fallback` when an unknown key is looked up; `in`, size and iteration ignore that.
  static Value MapWithDefault(std::vector<std::pair<Value, Value>> entries, Value fallback);
  static Value Type(TypePtr type);
  static Value Optional(Value value);
  static Value NoOptional();
  static Value Error(std::string message);
  static Value NoSuchOverload();
  // Takes the reference.
  static Value FromObject(ValueKind kind, const HeapObject* object);

  ValueKind kind() const { return kind_; }
  bool IsAbsent() const { return kind_ == ValueKind::kAbsent; }
  bool IsError() const { return kind_ == ValueKind::kError; }
  bool IsTrue() const { return kind_ == ValueKind::kBool && bits_ != 0; }
  bool IsFalse() const { return kind_ == ValueKind::kBool && bits_ == 0; }

  // The caller has checked the kind.
  bool as_bool() const { return bits_ != 0; }
  std::int64_t as_int() const { return static_cast<std::int64_t>(bits_); }  // also a duration's nanoseconds
  std::uint64_t as_uint() const { return bits_; }
  double as_double() const;
  const std::string& text() const;   // of strings, bytes and errors
  std::int64_t code_points() const;  // of strings
  const TimestampObject& timestamp() const;
  const ListObject& list() const;
  ListObject& mutable_list() const;
  const MapObject& map() const;
  MapObject& mutable_map() const;
  const TypePtr& type() const;
  const Value& optional() const;  // absent if the optional is empty
  const OpaqueObject& opaque() const;
  const HeapObject* object() const { return std::bit_cast<const HeapObject*>(bits_); }

 private:
  Value(ValueKind kind, std::uint64_t bits) : kind_(kind), bits_(bits) {}
  bool IsObject() const { return kind_ >= ValueKind::kString; }
  void Retain() const {
    if (IsObject()) object()->references.fetch_add(1, std::memory_order_relaxed);
  }
  void Release() {
    if (IsObject() && object()->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete object();
  }

  ValueKind kind_ = ValueKind::kAbsent;
  std::uint64_t bits_ = 0;
};

struct StringObject final : HeapObject {
  explicit StringObject(std::string text);
  const std::string text;
  const std::int64_t code_points;
};

struct TimestampObject final : HeapObject {
  TimestampObject(std::int64_t s, std::int32_t n, std::int32_t o) : seconds(s), nanoseconds(n), offset(o) {}
  const std::int64_t seconds;
  const std::int32_t nanoseconds;
  const std::int32_t offset;
};

// Containers cannot be nested deeper than this: functions on values are recursive.
inline constexpr int kMaxValueDepth = 1000;

// A list, or the concatenation of two lists. Concatenation takes constant time and memory, as in cel-go,
// because its cost is constant. The accumulator of a comprehension is a list that is appended to in place.
struct ListObject final : HeapObject {
  std::vector<Value> elements;  // unless concatenated
  Value first, second;          // both lists if concatenated, else absent
  std::int64_t size = 0;
  int depth = 1;
  bool accumulator = false;

  bool concatenated() const { return !first.IsAbsent(); }
  // `index` in [0, size).
  const Value& At(std::int64_t index) const;
};

struct MapObject final : HeapObject {
  using Entry = std::pair<Value, Value>;
  std::vector<Entry> entries;  // in the order of insertion
  Value fallback;              // absent: none
  int depth = 1;
  bool accumulator = false;

  // The value of `key`, with CEL's equality of numbers of different types; null if there is none.
  const Value* Find(const Value& key) const;
  // The same without conversion of numbers: Go's equality of map keys.
  const Value* FindExact(const Value& key) const;
  // The same for a string, without creating a value.
  const Value* Find(std::string_view key) const;
  // Replaces the value if the same key of the same type exists.
  void Set(Value key, Value value);
  void Erase(const Value& key);

 private:
  std::size_t IndexOf(const Value& key) const;
  void Reindex();
  // Open addressing with indexes of entries plus 1; empty for small maps.
  std::vector<std::uint32_t> index_;
};

// A value of a type that a library defines.
struct OpaqueObject : HeapObject {
  virtual const TypePtr& type() const = 0;
  // Whether the values are equal; `other` has the same type name. May return an error.
  virtual Value Equal(const OpaqueObject& other) const = 0;
  // The number that CEL's cost model uses as size, if the values have one.
  virtual std::int64_t size() const { return 1; }
  // For messages, as Go prints the value with %v and its type with %T.
  virtual std::string Text() const = 0;
  virtual std::string GoTypeName() const = 0;
};

// The type that type(value) returns.
TypePtr RuntimeType(const Value& value);
const std::string& RuntimeTypeName(const Value& value);
// As Go prints the type of the value with %T: "types.Int", "*types.baseList".
std::string GoTypeName(const Value& value);
// As Go prints the value with %v.
std::string GoText(const Value& value, Budget& budget);
// cel-go's canonical text of a value, with map keys sorted: `{"a": 1u}`.
std::string FormatValue(const Value& value);

// Whether `value` may be passed where a function declares `type`; of containers only the first element is
// examined.
bool MatchesRuntimeType(const Type& type, const Value& value);

// `==`: a bool or an error. Null equals only null.
Value Equals(const Value& a, const Value& b, Budget& budget);
// The same without the rule for null, as containers compare elements.
Value ElementEquals(const Value& a, const Value& b, Budget& budget);
// -1, 0, 1 or an error.
Value Compare(const Value& a, const Value& b);
bool IsComparable(const Value& value);
// `value in list`.
bool ListContains(const Value& list, const Value& value, Budget& budget);

// The concatenation of two lists; an error if it would be nested too deeply or too long.
Value Concatenate(const Value& a, const Value& b);
// What CEL's cost model uses as size: code points, bytes, elements, or 1.
std::uint64_t SizeForCost(const Value& value);
// A container's depth, 0 for everything else.
int DepthOf(const Value& value);
// The index that a value denotes in a list, or an error.
Value ListIndex(const Value& index);

inline Value Value::Null() { return {ValueKind::kNull, 0}; }
inline Value Value::Bool(bool value) { return {ValueKind::kBool, value ? 1u : 0u}; }
inline Value Value::Int(std::int64_t value) { return {ValueKind::kInt, static_cast<std::uint64_t>(value)}; }
inline Value Value::Uint(std::uint64_t value) { return {ValueKind::kUint, value}; }
inline Value Value::Duration(std::int64_t nanoseconds) {
  return {ValueKind::kDuration, static_cast<std::uint64_t>(nanoseconds)};
}
inline Value Value::FromObject(ValueKind kind, const HeapObject* object) {
  return {kind, reinterpret_cast<std::uint64_t>(object)};
}
inline const TimestampObject& Value::timestamp() const {
  return static_cast<const TimestampObject&>(*object());
}
inline const ListObject& Value::list() const { return static_cast<const ListObject&>(*object()); }
inline const MapObject& Value::map() const { return static_cast<const MapObject&>(*object()); }
inline const OpaqueObject& Value::opaque() const { return static_cast<const OpaqueObject&>(*object()); }
inline const std::string& Value::text() const { return static_cast<const StringObject&>(*object()).text; }
inline std::int64_t Value::code_points() const {
  return static_cast<const StringObject&>(*object()).code_points;
}
inline ListObject& Value::mutable_list() const { return const_cast<ListObject&>(list()); }
inline MapObject& Value::mutable_map() const { return const_cast<MapObject&>(map()); }

}  // namespace berth::cel
