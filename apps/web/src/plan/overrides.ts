import '../no.eval.js';
import { UPGRADE_RULES } from '@fairlead/contracts';

export interface Override {
  readonly rule: string;
  readonly reason: string;
}

/** Rules that a person may override with a reason, each with its title. */
export const OVERRIDABLE: readonly (readonly [rule: string, title: string])[] = Object.entries(UPGRADE_RULES).flatMap(
  ([rule, { overridable, title }]) => (overridable ? [[rule, `${rule}: ${title}`] as const] : []),
);

export const isOverridable = (rule: string): boolean => OVERRIDABLE.some(([one]) => one === rule);

/** One reason for each rule, the latest. */
export const withOverride = (overrides: readonly Override[], added: Override): readonly Override[] => [
  ...overrides.filter(({ rule }) => rule !== added.rule),
  added,
];
