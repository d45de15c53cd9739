import type { ParseLimits } from './limits.js';
import { tooLong } from './parse.failure.js';

/** Why kubeadm failed. */
export interface KubeadmRefusal {
  /** Failed preflight checks, as named by `--ignore-preflight-errors`; empty: it failed elsewhere. */
  readonly checks: readonly string[];
  /** Each reason as printed by kubeadm. */
  readonly words: readonly string[];
}

const REASONS_MAX = 10;
const WORDS_LENGTH_MAX = 500;

const CHECK = /^\s*\[ERROR ([A-Za-z][\w.-]{0,99})\]: (.*)$/;
/** klog's prefix: level, date, time, thread, file and line. */
const LOG_LINE = /^[IWEF]\d{4} /;
/** kubeadm's lines around its reasons. */
const AROUND =
  /^(?:\[preflight\] (?:If you know what|Some fatal errors)|To see the stack trace|Please fix the misalignments|error: error execution phase \S+: \[preflight\] Some fatal errors)/;
/** `[preflight] …`, `[upgrade/config] …`, `error: …`: the start of another message. */
const NEXT_SENTENCE = /^(?:\[[a-z][a-z/-]*\] |error: )/;
const BULLET = /^\s+- (.*)$/;
const LAST_WORDS = /^(?:error: |\[[\w/-]+\] FATAL: )(.*)$/;

const bounded = (reasons: readonly string[]): readonly string[] =>
  [...new Set(reasons.map((reason) => reason.trim()))]
    .filter((reason) => reason !== '')
    .slice(0, REASONS_MAX)
    .map((reason) => (reason.length > WORDS_LENGTH_MAX ? `${reason.slice(0, WORDS_LENGTH_MAX)}…` : reason));

/** A reason extends to the next one, or to another message. */
const checksIn = (lines: readonly string[]): readonly { readonly check: string; readonly words: string }[] => {
  const found: { check: string; words: string }[] = [];
  let isOpen = false;
  for (const line of lines) {
    const [, check, words = ''] = CHECK.exec(line) ?? [];
    if (check !== undefined) found.push({ check, words });
    const last = found.at(-1);
    isOpen = check !== undefined || (isOpen && !AROUND.test(line) && !NEXT_SENTENCE.test(line));
    if (check === undefined && isOpen && last !== undefined && last.words.length < WORDS_LENGTH_MAX)
      last.words = `${last.words} ${line.trim()}`;
  }
  return found;
};

/** `[upgrade/version] FATAL: … due to these fatal errors:` lists them; any other failure is one sentence. */
const otherWords = (lines: readonly string[]): readonly string[] => {
  const at = lines.findLastIndex((line) => LAST_WORDS.test(line));
  if (at === -1) return lines.slice(-3);
  const bullets = lines.slice(at).flatMap((line) => BULLET.exec(line)?.[1] ?? []);
  return bullets.length > 0 ? bullets : [(LAST_WORDS.exec(lines[at] ?? '')?.[1] ?? '').trim()];
};

/**
 * Parses the standard error of a failed kubeadm 1.30 or later.
 * @throws ParseFailure
 */
export const parseKubeadmRefusal = (text: string, { lengthMax }: Pick<ParseLimits, 'lengthMax'>): KubeadmRefusal => {
  if (text.length > lengthMax) throw tooLong(lengthMax);
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !LOG_LINE.test(line));
  const found = checksIn(lines);
  if (found.length > 0)
    return {
      checks: bounded(found.map(({ check }) => check)),
      words: bounded(found.map(({ check, words }) => `${check}: ${words}`)),
    };
  return { checks: [], words: bounded(otherWords(lines.filter((line) => !AROUND.test(line)))) };
};
