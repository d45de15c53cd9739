import type { LogLevel } from '../node/host.ports.js';

/** One event of the agent, for people. */
export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** sd-daemon(3): journald reads the priority from the prefix of a line. */
const PRIORITIES: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

const PLAIN = /^[\w@%+=:,./*()-]+$/;
const VALUE_LENGTH_MAX = 2_000;

const valueText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  const short = text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}...` : text;
  return PLAIN.test(short) ? short : JSON.stringify(short);
};

/** For example `the host could not be made as desired item=swap command="swapoff -a"`. */
export const sentenceOf = ({ message, fields }: LogLine): string =>
  [message, ...Object.entries(fields).map(([key, value]) => `${key}=${valueText(value)}`)].join(' ');

/** A line for journald, which adds the time and strips the priority. */
export const journaldLine = (line: LogLine): string => `<${PRIORITIES[line.level]}>${sentenceOf(line)}`;

/** A line for outputs that add no time. */
export const fullLine = (line: LogLine, at: Date): string =>
  `${at.toISOString()} ${line.level.toUpperCase().padEnd(5)} ${sentenceOf(line)}`;
