# Functions for long scripts, to be sourced by bash: they print how much time each step takes.

steps_name=
steps_started=0
steps_cpu=0

# step NAME: ends the step before, if there is one, and starts the next one.
step() {
  end_step
  steps_name=$1 steps_started=$SECONDS
  steps_cpu=$(steps_cpu_seconds)
  printf '\n== %s (after %d min)\n' "$1" $((SECONDS / 60))
}

# Prints wall clock and CPU time of the step, both in seconds.
end_step() {
  [ -n "$steps_name" ] || return 0
  printf -- '-- %s: %d s, %d s of CPU time\n' "$steps_name" $((SECONDS - steps_started)) $(($(steps_cpu_seconds) - steps_cpu))
  steps_name=
}

# CPU time of all finished child processes of this script: cutime and cstime of proc(5), after the process's name.
steps_cpu_seconds() {
  local fields
  read -ra fields <<<"$(sed 's/.*) //' /proc/$$/stat)"
  echo $(((fields[13] + fields[14]) / $(getconf CLK_TCK)))
}

# in_background NAME COMMAND...: starts a command or function that uses only the CPU time which nothing else wants: a build,
# beside tests that mostly wait.
declare -A steps_background=()
in_background() {
  local name=$1 output
  shift
  output=$(mktemp)
  set -m  # a process group of its own
  {
    chrt --idle --pid 0 $BASHPID
    "$@"
  } >"$output" 2>&1 &
  set +m
  steps_background[$name]="$! $output"
}

# await NAME: waits for the command of that name, and prints its output.
await() {
  local process output status=0
  read -r process output <<<"${steps_background[$1]}"
  unset "steps_background[$1]"
  wait "$process" || status=$?
  cat "$output"
  rm "$output"
  return "$status"
}

# Ends all commands in the background: for the end of a script that failed.
end_background() {
  local name
  for name in "${!steps_background[@]}"; do
    kill -- "-${steps_background[$name]%% *}" 2>/dev/null || true
    rm -f "${steps_background[$name]#* }"
  done
}

# together COMMAND...: runs commands at the same time, and prints the output of each one after the other. For commands that
# use one core and measure no time.
together() {
  local command failed= outputs=() running=()
  for command in "$@"; do
    outputs+=("$(mktemp)")
    "$command" >"${outputs[-1]}" 2>&1 &
    running+=($!)
  done
  for command in "${!running[@]}"; do
    wait "${running[command]}" || failed=1
    cat "${outputs[command]}"
    rm "${outputs[command]}"
  done
  [ -z "$failed" ]
}
