/**
 * The script behind every stand-in. The name under which it is called is the command; it passes its arguments to the
 * lab and prints the reply: `o` and `e` lines for standard output and error, then `x` with the exit code. `requests`
 * and the reply are FIFOs. A request is one line shorter than PIPE_BUF, so concurrent calls do not interleave. The
 * reply is opened for reading and writing before the request is sent, so that neither side blocks while opening it.
 */
export const standInScript = (folder: string): string => `#!/bin/sh
# Stand-in of a simulated host (Fairlead lab): the lab process carries the command out.
lab=${quoted(folder)}
id="$$.\${0##*/}"
reply="$lab/$id"
mkfifo -m 600 "$reply" 2>/dev/null || { rm -f "$reply" && mkfifo -m 600 "$reply"; } || exit 125
printf '%s\\0' "\${0##*/}" "$PWD" "$@" >"$reply.words"
exec 9<>"$reply"
printf '%s\\n' "$id" >"$lab/requests"
while IFS= read -r line <&9; do
  case $line in
    o*) printf '%s\\n' "\${line#o}" ;;
    e*) printf '%s\\n' "\${line#e}" >&2 ;;
    x*) exit "\${line#x}" ;;
  esac
done
exit 125
`;

/** `sudo` on a host where every user is root. */
export const SUDO_SCRIPT = `#!/bin/sh
# Stand-in of a simulated host (Fairlead lab): commands run as root already.
while [ $# -gt 0 ]; do
  case $1 in
    -u | -g | -h | -p) shift 2 ;;
    --) shift; break ;;
    -*) shift ;;
    *=*) export "$1"; shift ;;
    *) break ;;
  esac
done
exec "$@"
`;

/** `systemd-run` without limits, unit networks and timers: a program runs at once, one with a timer never. */
export const SYSTEMD_RUN_SCRIPT = `#!/bin/sh
# Stand-in of a simulated host (Fairlead lab): the program runs in the environment of its caller.
while [ $# -gt 0 ]; do
  case $1 in
    --on-*) exit 0 ;;
    -*) shift ;;
    *) break ;;
  esac
done
exec "$@"
`;

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
