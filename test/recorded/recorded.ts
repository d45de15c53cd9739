import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Kubernetes versions for which the output of a whole control plane was recorded. */
export const RECORDED_VERSIONS = ['v1.33.13', 'v1.34.4'] as const;
export type RecordedVersion = (typeof RECORDED_VERSIONS)[number];

/** A command, after "$ ", followed by its whole output. */
const PROMPT = /^\$ (.*)$/m;

export const fileOf = (version: RecordedVersion): string =>
  fileURLToPath(new URL(`debian-13.kubernetes-${version}.txt`, import.meta.url));

/** Outputs by command, in order. */
export const answersIn = (text: string): ReadonlyMap<string, string> => {
  const [, ...parts] = text.split(PROMPT);
  return new Map(parts.flatMap((part, at) => (at % 2 === 0 ? [[part, (parts[at + 1] ?? '').slice(1)] as const] : [])));
};

export const textOf = (answers: ReadonlyMap<string, string>): string =>
  [...answers].map(([command, answer]) => `$ ${command}\n${answer}`).join('');

/** The recorded output of a real tool for this command (`npm run fixtures:record`). Throws if there is no record. */
const recordedIn = (file: string, command: string): string => {
  const answer = answersIn(readFileSync(file, 'utf8')).get(command);
  if (answer === undefined) throw new Error(`${file} has no answer of ${command}`);
  return answer;
};

export const recorded = (version: RecordedVersion, command: string): string => recordedIn(fileOf(version), command);

/** The output of apt 2.6 on a machine whose sources list three Debian releases. */
export const recordedOfApt = (command: string): string =>
  recordedIn(fileURLToPath(new URL('apt-2.6.txt', import.meta.url)), command);

const CHANCE: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'uuid#'],
  [/\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b/g, 'mac#'],
  [/[A-Za-z0-9+/=]{200,}/g, '#'],
  [/\bveth[0-9a-f]+/g, 'veth#'],
  [/\bfe80::[0-9a-f:]+/g, 'fe80::#'],
  [/\d+(\.\d+)? [kM]?B\b/g, '0 B'],
  [/\b[0-9a-f]{8,}\b/g, '#'],
  [/\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b/g, '#'],
  [/\d+(\.\d+)*(ms|µs)?/g, '0'],
  [/\s+/g, ' '],
];

/** How many there are is chance, too: of a list in JSON each is a line. */
const linesOf = (answer: string): readonly string[] =>
  answer.startsWith('[{')
    ? (JSON.parse(answer) as readonly unknown[]).map((item) => JSON.stringify(item))
    : answer.split('\n');

/** The constant part of an output: without ids, times, addresses, sizes and the order of lines. */
export const shapeOf = (answer: string): readonly string[] => {
  const lines = linesOf(answer).map((line) =>
    CHANCE.reduce((text, [chance, mask]) => text.replaceAll(chance, mask), line).trim(),
  );
  return [...new Set(lines)].filter(Boolean).sort();
};
