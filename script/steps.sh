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
