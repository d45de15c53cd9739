/** The settings of a systemd unit file that the lab supports. */
export interface UnitFile {
  readonly description: string;
  readonly type: string;
  readonly execStart: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly environmentFiles: readonly string[];
  readonly workingDirectory: string | undefined;
  readonly restart: 'no' | 'always' | 'on-failure';
  readonly restartDelayMs: number;
}

const RESTART_DELAY_DEFAULT_MS = 100;

/**
 * Parses a unit file and its drop-ins in order; an empty `ExecStart=` clears earlier ones, as in systemd.service(5).
 */
export const parseUnit = (texts: readonly string[]): UnitFile => {
  const values = new Map<string, string[]>();
  for (const line of texts.flatMap((text) => logicalLines(text))) {
    const match = /^([A-Za-z]+)=(.*)$/.exec(line);
    if (match?.[1] === undefined) continue;
    const value = (match[2] ?? '').trim();
    if (value === '') values.delete(match[1]);
    else values.set(match[1], [...(values.get(match[1]) ?? []), value]);
  }
  const last = (key: string): string | undefined => values.get(key)?.at(-1);
  return {
    description: last('Description') ?? '',
    type: last('Type') ?? 'simple',
    execStart: last('ExecStart') ?? '',
    environment: Object.fromEntries((values.get('Environment') ?? []).flatMap(assignments)),
    environmentFiles: values.get('EnvironmentFile') ?? [],
    workingDirectory: last('WorkingDirectory'),
    restart: restartPolicy(last('Restart')),
    restartDelayMs: durationMs(last('RestartSec')) ?? RESTART_DELAY_DEFAULT_MS,
  };
};

/** Splits a command line like systemd: at blanks outside quotes. Prefixes such as `-` and `@` are dropped. */
export const splitCommandLine = (commandLine: string): readonly string[] =>
  [...commandLine.replace(/^[-@:+!]+/, '').matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+)/g)].map(
    ([, double, single, bare]) => (double ?? single ?? bare ?? '').replace(/\\(.)/g, '$1'),
  );

/** Replaces `$NAME` and `${NAME}` with the environment's value, or nothing. */
export const expandVariables = (word: string, environment: Readonly<Record<string, string>>): string =>
  word.replace(/\$\{(\w+)\}|\$(\w+)/g, (_, braced?: string, bare?: string) => environment[braced ?? bare ?? ''] ?? '');

/** Parses an environment file: `NAME=value`, quotes allowed. */
export const parseEnvironmentFile = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    logicalLines(text)
      .filter((line) => /^\w+=/.test(line))
      .flatMap(assignments),
  );

const logicalLines = (text: string): readonly string[] =>
  text
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^[#;]/.test(line));

const assignments = (text: string): readonly (readonly [string, string])[] =>
  [...text.matchAll(/"(\w+)=([^"]*)"|'(\w+)=([^']*)'|\b(\w+)="([^"]*)"|\b(\w+)=(\S*)/g)].map(
    ([, n1, v1, n2, v2, n3, v3, n4, v4]) => [n1 ?? n2 ?? n3 ?? n4 ?? '', v1 ?? v2 ?? v3 ?? v4 ?? ''] as const,
  );

const restartPolicy = (value: string | undefined): UnitFile['restart'] => {
  if (value === 'always' || value === 'on-failure') return value;
  return value === undefined || value === 'no' ? 'no' : 'on-failure';
};

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, sec: 1_000, '': 1_000, min: 60_000, m: 60_000 };

const durationMs = (value: string | undefined): number | undefined => {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|sec|min|m)?$/.exec(value ?? '');
  return match?.[1] === undefined ? undefined : Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 1_000);
};
