import { UPGRADE_RULES, type Finding, type UpgradeRule } from '@fairlead/contracts';

/** What a rule found, before it is known how grave it is. */
export interface Found {
  readonly sentence: string;
  /** What was seen: names and numbers, so that one can check it. */
  readonly facts: Readonly<Record<string, unknown>>;
  readonly help: string;
}

const finding =
  (severity: Finding['severity']) =>
  (rule: UpgradeRule, { sentence, facts, help }: Found): Finding => ({
    rule,
    severity,
    sentence,
    facts: { ...facts },
    help,
  });

/** The upgrade does not begin, unless the rule can be taken upon oneself and someone did. */
export const refusing = finding('refuse');
/** The plan shows it and waits for its approval. */
export const asking = finding('ask');
/** The plan shows it. */
export const informing = finding('inform');

/** `when ? finding : none`, as lists that can be joined. */
export const when = (holds: boolean, found: () => Finding): readonly Finding[] => (holds ? [found()] : []);

/** Findings that stop an upgrade: refusals that no one has taken upon oneself, or that no one can. */
export const stopping = (findings: readonly Finding[], overridden: readonly string[]): readonly Finding[] =>
  findings.filter(
    ({ rule, severity }) =>
      severity === 'refuse' && !(overridden.includes(rule) && UPGRADE_RULES[rule as UpgradeRule].overridable),
  );

/** What was taken upon oneself is shown, and no longer stops. */
export const withOverrides = (findings: readonly Finding[], overridden: readonly string[]): readonly Finding[] => {
  const stops = new Set(stopping(findings, overridden));
  return findings.map((one) => (one.severity === 'refuse' && !stops.has(one) ? { ...one, severity: 'inform' } : one));
};
