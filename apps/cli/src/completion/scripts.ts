/** Scripts that run `fairlead __complete` for candidates; with a line `:files` the shell completes file names. */
export const COMPLETION_SCRIPTS = {
  bash: `# fairlead completion for bash. Load it with: source <(fairlead completion bash)
_fairlead() {
  local line files= current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  # Not compgen -W, which expands what it is given: names are those of a server.
  while IFS= read -r line; do
    if [ "$line" = ":files" ]; then files=yes; elif [[ "$line" == "$current"* ]]; then COMPREPLY+=("$line"); fi
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [ -n "$files" ]; then compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"); fi
}
complete -F _fairlead fairlead
`,
  zsh: `#compdef fairlead
# fairlead completion for zsh. Load it with: source <(fairlead completion zsh)
_fairlead() {
  local line files
  local -a candidates
  while IFS= read -r line; do
    if [[ "$line" == ":files" ]]; then files=yes; else candidates+=("$line"); fi
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if [[ -n "$files" ]]; then _files; else compadd -a candidates; fi
}
compdef _fairlead fairlead
`,
  fish: `# fairlead completion for fish. Load it with: fairlead completion fish | source
function __fairlead_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in (command $words[1] __complete -- $words[2..-1] 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c fairlead -f -a "(__fairlead_complete)"
`,
} as const;

export type Shell = keyof typeof COMPLETION_SCRIPTS;
export const SHELLS = Object.keys(COMPLETION_SCRIPTS);
