/**
 * A shell function that records the identity of a process in the format of `ProcessIdentity`: its pid and its start
 * time.
 */
export const IDENTITY_FUNCTION = `# identity PID FILE: a process for ever, by its number and the moment of its start.
identity() {
  read -r boot_id </proc/sys/kernel/random/boot_id
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
  identity_pid=$1 identity_file=$2
  # shellcheck disable=SC2086 # It is a list of fields.
  set -- \${stat##*) }
  shift 19
  printf '{"pid":%s,"birth":"%s/%s"}\\n' "$identity_pid" "$boot_id" "$1" >"$identity_file.tmp"
  mv "$identity_file.tmp" "$identity_file"
}
`;
