#include "command_line/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"

namespace berth::command_line {
namespace {

// Cobra's directives.
constexpr int kFiles = 0;
constexpr int kNoFiles = 4;

constexpr std::string_view kBash =
    R"(# Completes berth and kube-scheduler in bash: source <(berth completion bash)
_berth() {
  local words=() word glue= i lines=() values=() cur
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    # bash splits --output=text into three words.
    if [[ $word == "=" && ${#words[@]} -gt 0 ]]; then
      words[-1]+="="
      glue=1
    elif [[ $glue ]]; then
      words[-1]+=$word
      glue=
    else
      words+=("$word")
    fi
  done
  cur=${words[-1]}
  [[ $cur == -*=* ]] && cur=${cur#*=}
  mapfile -t lines < <("${COMP_WORDS[0]/#\~/$HOME}" __complete "${words[@]}" 2>/dev/null)
  COMPREPLY=()
  [[ ${#lines[@]} -gt 0 ]] || return
  for word in "${lines[@]:0:${#lines[@]}-1}"; do values+=("${word%%$'\t'*}"); done
  if [[ ${#values[@]} -gt 0 ]]; then
    mapfile -t COMPREPLY < <(printf '%q\n' "${values[@]}")
  elif [[ ${lines[-1]} == ":0" ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -F _berth berth kube-scheduler
)";

constexpr std::string_view kZsh = R"(#compdef berth kube-scheduler
# Completes berth and kube-scheduler in zsh: source <(berth completion zsh), or a file _berth in $fpath.
_berth() {
  local -a lines values
  local line last
  lines=("${(@f)$(${~words[1]} __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  last=${lines[-1]}
  for line in "${(@)lines[1,-2]}"; do
    values+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  [[ ${words[CURRENT]} == -*=* ]] && compset -P '*='
  (( ${#values} )) && _describe -t values value values
  [[ $last == :0 ]] && _files
}
if [[ ${funcstack[1]} == _berth ]]; then
  _berth "$@"
else
  compdef _berth berth kube-scheduler
fi
)";

constexpr std::string_view kFish =
    R"(# Completes berth and kube-scheduler in fish: berth completion fish | source
function __berth_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  set -l lines ($before[1] __complete $before[2..-1] "$current" 2>/dev/null)
  set -l prefix (string match -r -- '^-.*?=' "$current")
  test (count $lines) -gt 0; or return
  if test (count $lines) -gt 1
    for line in $lines[1..-2]
      echo "$prefix$line"
    end
  else if test $lines[-1] = ':0'
    __fish_complete_path (string replace -- "$prefix" '' "$current")
  end
end
complete -c berth -f -a '(__berth_complete)'
complete -c kube-scheduler -f -a '(__berth_complete)'
)";

}  // namespace

bool IsCompletion(std::span<const std::string> args) {
  return !args.empty() && args.front() == kCompletionRequest;
}

void Candidates::Offer(std::string_view word, std::string value, std::string_view description) {
  if (!value.starts_with(word)) return;
  std::string line(description.substr(0, description.find('\n')));
  std::ranges::replace(line, '\t', ' ');
  values.push_back({std::move(value), std::move(line)});
}

void Print(const Candidates& candidates) {
  for (const Candidate& candidate : candidates.values) {
    fmt::print("{}{}{}\n", candidate.value, candidate.description.empty() ? "" : "\t", candidate.description);
  }
  fmt::print(":{}\n", candidates.files ? kFiles : kNoFiles);
}

std::string CompletionScript(std::string_view shell) {
  BERTH_CHECK(std::ranges::find(kShells, shell) != std::end(kShells), shell);
  if (shell == "bash") return std::string(kBash);
  return std::string(shell == "zsh" ? kZsh : kFish);
}

}  // namespace berth::command_line
