import * as z from 'zod';
import { quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

/** A port of another host. */
export interface PortTarget {
  readonly address: string;
  readonly port: number;
  /** `open`: something must listen there now. `reachable`: that nothing listens yet is an answer, too. */
  readonly need: 'open' | 'reachable';
}

export interface CheckPortsInput {
  readonly targets: readonly PortTarget[];
  /** How long ports that do not answer as needed are tried again. */
  readonly patienceSeconds: number;
}

export const PORT_TARGETS_MAX = 100;
const WORDS_MAX = 300;

/** `unknown`: the host has no means to find out. */
export const PortAnswer = z.strictObject({
  target: z.int().min(0).max(PORT_TARGETS_MAX),
  answer: z.enum(['open', 'refused', 'silent', 'unreachable', 'unknown']),
  words: z.string().max(WORDS_MAX),
});
export type PortAnswer = z.infer<typeof PortAnswer>;

export interface CheckPortsResult {
  /** One for each target, in order. */
  readonly answers: readonly PortAnswer[];
}

/** A dropped packet gets no answer. */
export const SILENCE_SECONDS = 5;
const PAUSE_SECONDS = 2;
const NOT_FOUND = 127;
const TIMED_OUT = 124;

/** Simulated hosts share the loopback interface of their machine: their lab answers for its network. */
const CHECK = `
connect() {
  if [ -n "$root" ] && command -v lab-connect >/dev/null 2>&1; then
    lab-connect "$1" "$2" 2>&1
  else
    LC_ALL=C timeout ${SILENCE_SECONDS} bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>&1
  fi
}
check() {
  said=$(connect "$2" "$3") && code=0 || code=$?
  case "$code $said" in
    0*) answer=open ;;
    ${TIMED_OUT}*) answer=silent ;;
    ${NOT_FOUND}*) answer=unknown ;;
    *refused*) answer=refused ;;
    *) answer=unreachable ;;
  esac
  words=$(printf '%s' "$said" | head -n 1 | cut -c 1-200)
  printf '{"target":%s,"answer":"%s","words":%s}' "$1" "$answer" "$(json_text "$words")" >"$answers/$1"
  case "$answer $4" in
    open* | unknown* | 'refused reachable') ;;
    *) : >"$answers/bad" ;;
  esac
}`;

/** Connects to ports of other hosts, all at once, and closes each connection. It changes nothing. */
export const checkPortsScript = ({ targets, patienceSeconds }: CheckPortsInput): HostScript =>
  script(
    { step: 'check-ports', limitSeconds: 60 + patienceSeconds, lockSeconds: null },
    `
${CHECK}
answers=$(mktemp -d "$root/run/fairlead/$step.XXXXXX")
waited=0
while :; do
  rm -f "$answers/bad"
${targets.map(({ address, port, need }, at) => `  check ${at} ${quote(address)} ${port} ${need} &`).join('\n')}
  wait
  if [ ! -e "$answers/bad" ] || [ "$waited" -ge ${patienceSeconds} ]; then break; fi
  sleep ${PAUSE_SECONDS}
  waited=$((waited + ${SILENCE_SECONDS + PAUSE_SECONDS}))
done
list=''
between=''
for target in ${targets.map((_, at) => at).join(' ')}; do
  list="$list$between$(cat "$answers/$target")"
  between=,
done
rm -rf "$answers"
result "{\\"answers\\":[$list]}"
`,
  );
