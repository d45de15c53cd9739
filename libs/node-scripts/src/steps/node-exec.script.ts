import { quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export interface NodeExecInput {
  /** Program and arguments, without a shell. */
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
  /** Maximum bytes kept of standard output and standard error each. */
  readonly outputBytes: number;
}

export interface NodeExecResult {
  /** 124: it exceeded its time limit. */
  readonly exitCode: number;
  /** Base64. */
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
}

/** Until a command that ignores SIGTERM is killed, and its output is sent. */
const GRACE_SECONDS = 5;
const SENDING_SECONDS = 30;

/**
 * Runs an operator's command once. Unlike other steps it is never repeated: the sender records that before. Output
 * beyond the limit is read and counted, so that the command continues.
 */
export const nodeExecScript = ({ command, timeoutSeconds, outputBytes }: NodeExecInput): HostScript =>
  script(
    { step: 'node-exec', limitSeconds: timeoutSeconds + GRACE_SECONDS + SENDING_SECONDS, lockSeconds: null },
    `
work=$(mktemp -d "$root/run/fairlead/node-exec.XXXXXX")
trap 'rm -rf "$work"; clean_up' EXIT
unset FAIRLEAD_STEP_LIMITED
keep() {
  head -c ${outputBytes} >"$work/$1"
  wc -c >"$work/$1.more"
}
bytes() {
  echo $(($(wc -c <"$work/$1") + $(cat "$work/$1.more")))
}
encoded() {
  base64 <"$work/$1" | tr -d '\\n'
}
carry_out() {
  code=0
  timeout -k ${GRACE_SECONDS} ${timeoutSeconds} ${command.map(quote).join(' ')} </dev/null 3>&- || code=$?
  echo "$code" >"$work/code"
}
{ carry_out 2>&3 | keep stdout; } 3>&1 >/dev/null | keep stderr
result "{\\"exitCode\\":$(cat "$work/code"),\\"stdout\\":\\"$(encoded stdout)\\",\\"stderr\\":\\"$(encoded stderr)\\",\\"stdoutBytes\\":$(bytes stdout),\\"stderrBytes\\":$(bytes stderr)}"
`,
  );
