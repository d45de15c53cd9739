import { AGENT_PATHS } from '@fairlead/contracts';
import { quote } from './quote.js';

/** A rendered step under a unique name: the step's own, and a suffix after the last `-`. */
export interface SentStep {
  readonly name: string;
  readonly script: string;
  /** The input rendered into the script. */
  readonly input: unknown;
}

const NAME = /^[a-z][a-z0-9-]{0,99}-[A-Za-z0-9]{1,64}$/;
const INPUT = '\n# input ';

/**
 * The script's file until it starts. A script removes itself when it starts; a missing one has started, or never
 * arrived.
 */
export const stepFile = (name: string): string => `${AGENT_PATHS.steps}/${name}.sh`;

/**
 * How a step is sent to a host: one command, with this text on its standard input, so that other users of the host, who
 * see command lines, see nothing of it. The shell defines a function before it runs anything, so a truncated text does
 * nothing. Simulated hosts read the last comment.
 */
export const sentStep = ({ name, script, input }: SentStep): { readonly command: string; readonly stdin: string } => {
  if (!NAME.test(name)) throw new Error(`${name} is no name of a step that is sent`);
  const stdin = `step() {
  file="\${FAIRLEAD_ROOT:-}"${stepFile(name)}
  mkdir -p "\${file%/*}" || exit
  umask 077
  printf '%s' ${quote(script)} >"$file" || exit
  exec sh "$file" </dev/null
}${INPUT}${JSON.stringify(input)}
step
`;
  return { command: `sh -s ${name}`, stdin };
};

const COMMAND = /^sh -s (\S+)$/;

/** The name of the step that a command runs; undefined: none. */
export const nameOfSentStep = (command: string): string | undefined => {
  const name = COMMAND.exec(command)?.[1];
  return name !== undefined && NAME.test(name) ? name : undefined;
};

/** The input of the step with this complete text; undefined: it was cut off, or is not a step. */
export const inputOfSentStep = (stdin: string): { readonly input: unknown } | undefined => {
  const at = stdin.lastIndexOf(INPUT);
  const end = '\nstep\n';
  if (at === -1 || !stdin.endsWith(end)) return undefined;
  return { input: JSON.parse(stdin.slice(at + INPUT.length, -end.length)) as unknown };
};
