import type { Labels } from './kube.object.js';

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

/** Matches labels by the API's rules: an empty selector matches everything. */
export const matchesSelector = (selector: LabelSelector, labels: Labels | undefined): boolean =>
  Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels?.[key] === value) &&
  (selector.matchExpressions ?? []).every((requirement) => meets(requirement, labels?.[requirement.key]));

const meets = ({ operator, values }: LabelSelectorRequirement, value: string | undefined): boolean => {
  switch (operator) {
    case 'In':
      return value !== undefined && (values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
};

/** The text form of a selector, for the Scale subresource and tables. */
export const selectorText = (selector: LabelSelector | undefined): string => {
  if (selector === undefined) return '';
  const equal = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const sets = (selector.matchExpressions ?? []).map(({ key, operator, values }) => {
    switch (operator) {
      case 'In':
        return `${key} in (${(values ?? []).join(',')})`;
      case 'NotIn':
        return `${key} notin (${(values ?? []).join(',')})`;
      case 'Exists':
        return key;
      case 'DoesNotExist':
        return `!${key}`;
    }
  });
  return [...equal, ...sets].join(',');
};

const SET_TERM = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/;
const EQUAL_TERM = /^([^!=\s]+)\s*(==|=|!=)\s*(\S*)$/;
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$/;

/** Parses the `labelSelector` query parameter. Returns undefined if it is invalid. */
export const parseLabelSelector = (text: string): LabelSelector | undefined => {
  const requirements: LabelSelectorRequirement[] = [];
  for (const term of splitTerms(text)) {
    const requirement = parseTerm(term);
    if (requirement === undefined) return undefined;
    requirements.push(requirement);
  }
  return { matchExpressions: requirements };
};

const parseTerm = (term: string): LabelSelectorRequirement | undefined => {
  const set = SET_TERM.exec(term);
  if (set?.[1] !== undefined) {
    const values = (set[3] ?? '').split(',').map((value) => value.trim());
    return { key: set[1], operator: set[2] === 'in' ? 'In' : 'NotIn', values };
  }
  const equal = EQUAL_TERM.exec(term);
  if (equal?.[1] !== undefined) {
    return { key: equal[1], operator: equal[2] === '!=' ? 'NotIn' : 'In', values: [equal[3] ?? ''] };
  }
  if (term.startsWith('!') && NAME.test(term.slice(1).trim())) {
    return { key: term.slice(1).trim(), operator: 'DoesNotExist' };
  }
  return NAME.test(term) ? { key: term, operator: 'Exists' } : undefined;
};

/** Splits at commas that are not inside parentheses. */
const splitTerms = (text: string): readonly string[] =>
  (text.match(/(?:[^,(]|\([^)]*\)?)+/g) ?? []).map((term) => term.trim()).filter((term) => term !== '');
