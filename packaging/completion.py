"""Completions for bash and zsh, generated from the program's help."""

BASH = r"""# Completes berth and kube-scheduler in bash.
_berth() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= word
  # bash splits --output=text into three words.
  if [ "$cur" = "=" ]; then cur=; elif [ "$prev" = "=" ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  [ "${COMP_WORDS[0]##*/}" != kube-scheduler ] || path=scheduler
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path/$word" in
@steps@
    esac
  done
  local words=
  case "$path $prev" in
@values@
  esac
  case "$path" in
@options@
  esac
  if [ "${cur#-}" = "$cur" ]; then
    case "$path" in
      @files@) words= ;;
    esac
  fi
  if [ -z "$words" ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  fi
}
complete -F _berth berth kube-scheduler
"""

ZSH = r"""#compdef berth kube-scheduler
# Completes berth and kube-scheduler in zsh.
_berth() {
  local place=1 i
  local -a spot
  [[ ${words[1]:t} == kube-scheduler ]] && spot=(scheduler)
  for ((i = 2; i < CURRENT; ++i)); do
    case "$spot/${words[i]}" in
@steps@
    esac
  done
  words=(berth "${(@)words[place+1,-1]}")
  (( CURRENT -= place - 1 ))
  case "$spot" in
@options@
  esac
}
_berth "$@"
"""


def bash(root):
    steps, values, options = [], [], []
    for command in root.all_commands():
        path = " ".join(command.path)
        if command.path:
            steps.append(f'      "{" ".join(command.path[:-1])}/{command.path[-1]}") path="{path}" ;;')
        names = [name for option in command.options for name in option.names] + [child.path[-1] for child in command.subcommands]
        options.append(f'    "{path}") words="${{words:-{" ".join(names)}}}" ;;')
        files = [name for option in command.options if option.takes_file and option.argument for name in option.names]
        for option in command.options:
            if option.choices:
                values += [f'    "{path} {name}") words="{" ".join(option.choices)}" ;;' for name in option.names]
        if files:
            patterns = "|".join(f'"{path} {name}"' for name in files)
            values.append(f'    {patterns})\n      compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;')
    places = ['"%s"' % " ".join(command.path) for command in root.all_commands() if command.takes_files]
    return _fill(BASH, steps=steps, values=values, options=options, files=["|".join(places)])


def zsh(root):
    steps, options = [], []
    for command in root.all_commands():
        path = " ".join(command.path)
        if command.path:
            steps.append(f'      "{" ".join(command.path[:-1])}/{command.path[-1]}") spot=({path}); place=$i ;;')
        specs = [_zsh_option(option, name) for option in command.options for name in option.names]
        if command.subcommands:
            about = " ".join(f'{child.path[-1]}\\:"{_zsh_text(child.summary)}"' for child in command.subcommands)
            specs.append(f"'1:command:(({about}))'")
        elif command.takes_files:
            specs.append("'*:file:_files'")
        lines = " \\\n        ".join(specs)
        options.append(f'    "{path}")\n      _arguments {lines} ;;')
    return _fill(ZSH, steps=steps, options=options)


def _zsh_option(option, name):
    star = "*" if option.repeats else ""
    text = f"[{_zsh_text(option.text.split('. ')[0])}]"
    if not option.argument:
        return f"'{star}{name}{text}'"
    action = f"({' '.join(option.choices)})" if option.choices else "_files" if option.takes_file else ""
    equals = "=" if name.startswith("--") else "+"
    return f"'{star}{name}{equals}{text}:{_zsh_text(option.argument)}:{action}'"


def _zsh_text(text):
    for letter in "\\[]:":
        text = text.replace(letter, f"\\{letter}")
    return text.replace("'", "'\\''").replace('"', "").replace("`", "").replace("$", "")


def _fill(template, **parts):
    for name, lines in parts.items():
        template = template.replace(f"@{name}@", "\n".join(lines))
    return template
