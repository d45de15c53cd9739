import type { Finding } from '@fairlead/contracts';
import type { Verdict } from './gate.js';

export const holds = (facts: Readonly<Record<string, unknown>> = {}): Verdict => ({ holds: true, facts });

export const fails = (message: string, facts: Readonly<Record<string, unknown>> = {}): Verdict => ({
  holds: false,
  facts,
  message,
});

/** A gate decided by a preflight rule: it holds if the rule has no findings. */
export const byFindings = (findings: readonly Finding[], facts: Readonly<Record<string, unknown>>): Verdict => {
  const [first] = findings;
  return first === undefined
    ? holds(facts)
    : fails(findings.map(({ sentence }) => sentence).join('; '), { ...facts, ...first.facts });
};

/** The node of a gate. Its absence is a bug, because the plan named it. */
export const nodeOf = (look: { readonly node: string | null }): string => {
  if (look.node === null) throw new Error('this gate is about a node, and none was named');
  return look.node;
};
