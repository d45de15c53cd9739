import {
  fillTemplate,
  UNREAD_FINDING,
  UPGRADE_FINDINGS,
  UPGRADE_RULES,
  type Finding,
  type FindingCode,
  type Placeholders,
  type UpgradeRule,
} from '@fairlead/contracts';

type Values = Readonly<Record<string, unknown>>;
type TextsOf<Code extends FindingCode> = (typeof UPGRADE_FINDINGS)[Code]['sentence' | 'help'];
/** Placeholders that no fact provides. */
type Missing<Code extends FindingCode, Facts> = Exclude<Placeholders<TextsOf<Code>>, keyof Facts>;

const filled = (text: string, values: Values): string => fillTemplate<string>(text, values);

/**
 * Creates a finding of the catalogue. `facts`: the observed names and numbers, so that a reader can verify it; `given`
 * provides the placeholders that no fact provides.
 */
export const finding = <Code extends FindingCode, Facts extends Values>(
  code: Code,
  facts: Facts,
  ...given: [Missing<Code, Facts>] extends [never] ? [] : [Readonly<Record<Missing<Code, Facts>, string | number>>]
): Finding => {
  const { severity, sentence, help, ...others } = UPGRADE_FINDINGS[code];
  const permanent = 'permanent' in others ? ({ permanent: true } as const) : {};
  const values: Values = Object.assign({}, facts, ...given);
  const rule = code.slice(0, code.indexOf('.'));
  const words = { sentence: filled(sentence, values), help: filled(help, values) };
  return { rule, severity, ...words, facts: { ...facts }, ...permanent };
};

/** The finding for a field that a rule needs and that could not be read. */
export const unreadFinding = (rule: string, what: string, message: string): Finding => ({
  rule,
  severity: UNREAD_FINDING.severity,
  sentence: fillTemplate(UNREAD_FINDING.sentence, { what, message }),
  facts: { what },
  help: UNREAD_FINDING.help,
});

/** Returns the finding if the condition holds, as a list that can be concatenated. */
export const when = (holds: boolean, found: () => Finding): readonly Finding[] => (holds ? [found()] : []);

/** Findings that block an upgrade: rejections that were not overridden, or cannot be. */
export const stopping = (findings: readonly Finding[], overridden: readonly string[]): readonly Finding[] =>
  findings.filter(
    ({ rule, severity }) =>
      severity === 'refuse' && !(overridden.includes(rule) && UPGRADE_RULES[rule as UpgradeRule].overridable),
  );

/** Whether the upgrade may start after changes of the cluster alone: no finding requires another request. */
export const mayPass = (findings: readonly Finding[]): boolean => findings.every(({ permanent }) => permanent !== true);

/** A number that each check measures again. */
const MEASURED = /(?<= )\d+(?= )/g;

/** Whether the findings are the same, apart from measured numbers. */
export const areSameFindings = (one: readonly Finding[], other: readonly Finding[]): boolean => {
  const wordsOf = (findings: readonly Finding[]): string =>
    findings.map(({ rule, sentence }) => `${rule} ${sentence.replaceAll(MEASURED, '')}`).join('\n');
  return wordsOf(one) === wordsOf(other);
};

/** Overridden findings are shown, but no longer block. */
export const withOverrides = (findings: readonly Finding[], overridden: readonly string[]): readonly Finding[] => {
  const stops = new Set(stopping(findings, overridden));
  return findings.map((one) => (one.severity === 'refuse' && !stops.has(one) ? { ...one, severity: 'inform' } : one));
};
