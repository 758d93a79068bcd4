// Files of kube-scheduler's performance tests and their templates: every one is read, or rejected with an
// error. An input is a template, a line "---", and a test file, whose templates all have that text.
#include "tests/fuzz/fuzz.hpp"
#include "tools/scheduler_perf/test_file.hpp"

namespace {

using berth::fuzz::Require;
using berth::scheduler_perf::ObjectTemplate;
using berth::scheduler_perf::TemplateFiles;

void Fill(const ObjectTemplate& model) {
  const auto object = model.Object(3, 10);
  Require(object.has_value() || !object.error().message.empty(), "a refusal has a reason");
}

void ReadTests(std::string_view text, TemplateFiles& templates) {
  const auto root = berth::yaml::ParseValue(text);
  if (!root) return;
  const auto file = berth::scheduler_perf::ParseTestFile(*root);
  if (!file) return Require(!file.error().message.empty(), "a refusal has a reason");
  const auto names = file->Names();
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i) {
    const auto test = berth::scheduler_perf::ResolveTest(*file, names[i], templates);
    Require(test.has_value() || !test.error().message.empty(), "a refusal has a reason");
    if (!test) continue;
    Require(test->operations.size() <= berth::scheduler_perf::kMostOperations, "operations are bounded");
    for (const auto& operation : test->operations) {
      if (const auto* create = std::get_if<berth::scheduler_perf::CreateObjects>(&operation.action))
        Fill(create->model);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = berth::fuzz::Text(data, size);
  constexpr std::string_view kMark = "\n---\n";
  const std::size_t mark = input.find(kMark);
  const std::string text(input.substr(0, mark));
  TemplateFiles templates([&](const std::string&) -> berth::Expected<std::string> { return text; });
  if (const auto model = templates.Load("template.yaml")) Fill(*model);
  if (mark != std::string_view::npos) ReadTests(input.substr(mark + kMark.size()), templates);
  return 0;
}
