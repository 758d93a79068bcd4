// Files with templates of objects.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "base/yaml.hpp"
#include "tools/scheduler_perf/text_template.hpp"

namespace berth::scheduler_perf {

// One template with its parameters.
struct ObjectTemplate {
  std::string path;  // as in the test, for errors
  std::shared_ptr<const TextTemplate> text;
  yaml::Value parameters = yaml::Value::Map();
  std::shared_ptr<const yaml::Value> constant = {};  // the object, if all are equal

  // The object with this number of `count` ones. Errors begin with the path.
  Expected<yaml::Value> Object(std::size_t index, std::size_t count) const;
};

// Reads each file once. One thread.
class TemplateFiles {
 public:
  // The content of a file.
  using Read = std::function<Expected<std::string>(const std::string& path)>;
  explicit TemplateFiles(Read read) : read_(std::move(read)) {}
  Expected<ObjectTemplate> Load(const std::string& path);

 private:
  const Read read_;
  std::map<std::string, ObjectTemplate> loaded_;
};

}  // namespace berth::scheduler_perf
