#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "sandbox/apiserver/patch/patch.hpp"

namespace berth::sandbox {
namespace {

// As kube-apiserver: a copy can double the document.
constexpr std::size_t kMaxOperations = 10000;
constexpr std::size_t kMaxCopiedBytes = 3 << 20;

// One error for every operation that cannot be applied: kube-apiserver gives no details, either.
std::unexpected<ApiError> DoesNotApply() {
  ApiError error;
  error.code = 422;
  error.reason = "Invalid";
  error.message = "the server rejected our request due to an error in our request";
  error.has_details = true;
  return std::unexpected(std::move(error));
}

using Pointer = std::vector<std::string>;

// RFC 6901: "/a/b~1c" is a, "b/c".
std::optional<Pointer> ParsePointer(std::string_view text) {
  Pointer path;
  if (text.empty()) return path;
  if (text.front() != '/') return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '/') {
      path.emplace_back();
    } else if (text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      path.back() += text[++i] == '0' ? '~' : '/';
    } else {
      path.back() += text[i];
    }
  }
  return path;
}

std::optional<std::size_t> Index(std::string_view token, std::size_t size) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc() || end != token.data() + token.size() || index > size) return std::nullopt;
  return index;
}

json::value* Step(json::value& from, std::string_view token) {
  if (auto* object = from.if_object()) return object->if_contains(token);
  auto* array = from.if_array();
  if (array == nullptr) return nullptr;
  const auto index = Index(token, array->size());
  return index && *index < array->size() ? &(*array)[*index] : nullptr;
}

json::value* Resolve(json::value& root, const Pointer& path, std::size_t depth) {
  json::value* here = &root;
  for (std::size_t i = 0; i < depth && here != nullptr; ++i) here = Step(*here, path[i]);
  return here;
}

// True if the document stays within kMaxNesting with that value there: code that reads it recurses.
bool IsShallow(const Pointer& path, const json::value& value) {
  return path.size() <= kMaxNesting && !IsNestedDeeper(value, kMaxNesting - path.size());
}

bool Add(json::value& root, const Pointer& path, json::value value) {
  if (!IsShallow(path, value)) return false;
  if (path.empty()) {
    root = std::move(value);
    return true;
  }
  json::value* parent = Resolve(root, path, path.size() - 1);
  if (parent == nullptr) return false;
  if (auto* object = parent->if_object()) {
    (*object)[path.back()] = std::move(value);
    return true;
  }
  auto* array = parent->if_array();
  if (array == nullptr) return false;
  const auto index = path.back() == "-" ? std::optional(array->size()) : Index(path.back(), array->size());
  if (!index) return false;
  array->insert(array->begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return true;
}

bool Remove(json::value& root, const Pointer& path) {
  if (path.empty()) return false;
  json::value* parent = Resolve(root, path, path.size() - 1);
  if (parent == nullptr || Step(*parent, path.back()) == nullptr) return false;
  if (auto* object = parent->if_object()) {
    object->erase(path.back());
  } else {
    auto& array = parent->get_array();
    array.erase(array.begin() + static_cast<std::ptrdiff_t>(*Index(path.back(), array.size())));
  }
  return true;
}

// `copied_bytes` is the sum over the operations of a patch.
bool ApplyOne(json::value& root, const json::object& operation, std::size_t& copied_bytes) {
  const auto path = ParsePointer(FindString(operation, "path"));
  const auto op = FindString(operation, "op");
  const json::value* value = Find(operation, "value");
  if (!path || Find(operation, "path") == nullptr) return false;
  json::value* place = Resolve(root, *path, path->size());
  if (op == "add") return value != nullptr && Add(root, *path, *value);
  if (op == "remove") return Remove(root, *path);
  if (op == "test") {
    // A missing member tests equal to null.
    return place == nullptr ? value == nullptr || value->is_null() : value != nullptr && *place == *value;
  }
  if (op == "replace") {
    if (place == nullptr || value == nullptr || !IsShallow(*path, *value)) return false;
    *place = *value;
    return true;
  }
  if (op != "move" && op != "copy") return false;
  const auto from = ParsePointer(FindString(operation, "from"));
  json::value* source = from ? Resolve(root, *from, from->size()) : nullptr;
  if (source == nullptr) return false;
  if (op == "copy") {
    copied_bytes += json::serialize(*source).size();
    return copied_bytes <= kMaxCopiedBytes && Add(root, *path, *source);
  }
  json::value moved = std::move(*source);
  return Remove(root, *from) && Add(root, *path, std::move(moved));
}

}  // namespace

ApiResult<> ApplyJsonPatch(json::value& target, const json::array& operations) {
  if (operations.size() > kMaxOperations) {
    ApiError error;
    error.code = 413;
    error.reason = "RequestEntityTooLarge";
    error.message =
        fmt::format("Request entity too large: The allowed maximum operations in a JSON patch is {}, got {}",
                    kMaxOperations, operations.size());
    return std::unexpected(std::move(error));
  }
  std::size_t copied_bytes = 0;
  for (const auto& operation : operations) {
    if (!operation.is_object() || !ApplyOne(target, operation.get_object(), copied_bytes))
      return DoesNotApply();
  }
  return {};
}

}  // namespace berth::sandbox
