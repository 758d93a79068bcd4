// Reads the fields of a YAML file strictly. Errors name the field's path, the value and the expectation.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/yaml.hpp"

namespace berth::yaml {

// Collects the errors of a file.
class FieldErrors {
 public:
  void Add(const std::string& path, std::string_view error);
  bool empty() const { return errors_.empty(); }
  // One error a line, at most ten.
  Error ToError() const;

 private:
  std::vector<std::string> errors_;
};

// The members of one object. Getters return `otherwise` if the member is absent or wrong; a member that was
// not read before Finish is an error. The value and the errors must outlive it.
class Fields {
 public:
  // `path`: of the object; empty for the whole file. A value that is not an object is an error.
  Fields(const Value& value, std::string path, FieldErrors& errors);

  bool Has(std::string_view name) const;
  // The path of a member, for errors.
  std::string PathOf(std::string_view name) const;
  void Add(std::string_view name, std::string_view error) { errors_.Add(PathOf(name), error); }

  std::string Text(std::string_view name, std::string otherwise = {});
  // A text that must be this one, such as the file's kind.
  void Expect(std::string_view name, std::string_view text);
  // One of `choices`; the first one is the default.
  std::string Choice(std::string_view name, const std::vector<std::string>& choices);
  bool Bool(std::string_view name, bool otherwise);
  std::int64_t Integer(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t otherwise);
  double Real(std::string_view name, double least, double most, double otherwise);
  // "1h30m". Never negative.
  Duration Time(std::string_view name, Duration otherwise, Duration least = {});
  std::vector<Duration> Times(std::string_view name);
  // "50/s", "3/m", "2.5/h": per second; 0 if absent or wrong.
  double Rate(std::string_view name);
  std::vector<std::string> Texts(std::string_view name);
  // Null if absent.
  const Value* Take(std::string_view name);
  // Calls each(value, path) for the items of a list.
  template <class Each>
  void ForEach(std::string_view name, Each&& each) {
    const Value* list = TakeKind(name, Value::Kind::kList, "a list");
    if (list == nullptr) return;
    for (std::size_t i = 0; i < list->items.size(); ++i)
      each(list->items[i], PathOf(name) + "[" + std::to_string(i) + "]");
  }
  void Finish();

 private:
  const Value* TakeKind(std::string_view name, Value::Kind kind, std::string_view expected);
  void Wrong(std::string_view name, const Value& value, std::string_view expected);

  const Value& value_;
  const std::string path_;
  FieldErrors& errors_;
  std::vector<std::string> known_;
};

}  // namespace berth::yaml
