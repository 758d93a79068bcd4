// Arguments of a plugin, declared in one place: a struct with defaults, and the names of its members.
//
//   struct FewPodsArgs {
//     std::int64_t most = 10;
//     std::string message = "node(s) had enough pods";
//
//     static constexpr std::string_view kKind = "FewPodsArgs";
//     static auto Fields() {
//       return std::tuple(Field("most", &FewPodsArgs::most), Field("message", &FewPodsArgs::message));
//     }
//     // Validation errors as "field: problem"; optional.
//     std::vector<std::string> Validate() const { ... }
//   };
//
// Arguments are decoded strictly (unknown fields and wrong types are errors that contain the path), completed
// with defaults, validated before the scheduler starts to watch the cluster, and included in the output of
// --write-config-to.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/framework/factory.hpp"

namespace berth::framework {

// The name of an argument in the configuration, and the member that receives it.
template <class Args, class T>
struct Field {
  static_assert(std::same_as<T, std::string> || std::same_as<T, std::int64_t> || std::same_as<T, bool> ||
                    std::same_as<T, double> || std::same_as<T, std::vector<std::string>>,
                "a field is a std::string, std::int64_t, bool, double or std::vector<std::string>");
  constexpr Field(std::string_view name, T Args::* member) : name(name), member(member) {}
  std::string_view name;
  T Args::* member;
};

namespace typed_args {

// The member's value as it is written to a configuration.
inline config::Value Encoded(const std::string& value) { return config::Value::Text(value); }
inline config::Value Encoded(std::int64_t value) { return config::Value::Number(value); }
inline config::Value Encoded(bool value) { return config::Value::Bool(value); }
inline config::Value Encoded(double value) { return config::Value::Float(value); }
inline config::Value Encoded(const std::vector<std::string>& values) {
  config::Value list = config::Value::List();
  for (const std::string& value : values) list.items.push_back(config::Value::Text(value));
  return list;
}

// Reads the arguments; what is unknown or has another type is added to `problems`.
template <class Args>
Args Decode(const config::Value& value, const config::FeatureGates&, config::Problems& problems) {
  Args args;
  config::StructReader reader(value, std::string(Args::kKind), "", problems);
  AcceptTypeMeta(reader);
  std::apply([&](const auto&... field) { (reader.Read(field.name, args.*field.member), ...); },
             Args::Fields());
  reader.Finish();
  return args;
}

// The texts of Args::Validate, each preceded by `path`.
template <class Args>
std::vector<std::string> Check(const Args& args, const std::string& path, const config::FeatureGates&) {
  std::vector<std::string> errors;
  if constexpr (requires { args.Validate(); }) {
    for (const std::string& mistake : args.Validate()) errors.push_back(path + "." + mistake);
  }
  return errors;
}

// The complete arguments, defaults included.
template <class Args>
config::Value Encode(const Args& args) {
  config::Value out = config::Value::Map();
  std::apply([&](const auto&... field) { (out.Set(field.name, Encoded(args.*field.member)), ...); },
             Args::Fields());
  return out;
}

}  // namespace typed_args

// Decodes, validates and writes the arguments of a plugin.
template <class Args>
config::ArgsCodec TypedArgsCodec() {
  auto codec = config::MakeArgsCodec<Args>(std::string(Args::kKind), typed_args::Decode<Args>,
                                           typed_args::Check<Args>, typed_args::Encode<Args>);
  codec.in_tree = false;
  return codec;
}

// For a plugin P with a type P::Args and a constructor P(const P::Args&, Handle&).
template <class P>
PluginOrError MakeTyped(const RawArgs& raw, Handle& handle) {
  using Args = typename P::Args;
  BERTH_TRY(const Args args, ParseArgs(raw, {}, typed_args::Decode<Args>, typed_args::Check<Args>));
  return std::make_unique<P>(args, handle);
}

}  // namespace berth::framework
