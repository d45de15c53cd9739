# How the yardsticks reach hosts and tell the time; sourced, with `key` set to the file that opens root on them.
begun=$(date +%s%N)
# More options of ssh.
ssh_options=()

on() {
  local host=$1
  shift
  # shellcheck disable=SC2154
  ssh -q "${ssh_options[@]}" -i "$key" -o BatchMode=yes -o ConnectTimeout=2 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
    "root@$host" "$@"
}
done_with() {
  printf '%7.1f s  %s\n' "$((($(date +%s%N) - begun) / 100000000))e-1" "$1"
}
