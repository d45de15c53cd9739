import { describe, expect, it } from '@jest/globals';
import { matchesFields, parseFieldSelector, unsupportedField } from './field.selector.js';
import { matchesSelector, parseLabelSelector } from './label.selector.js';
import { scaledValue } from './quantity.js';

describe('A label selector in a query', () => {
  const matches = (text: string, labels: Record<string, string>): boolean => {
    const selector = parseLabelSelector(text);
    if (selector === undefined) throw new Error(`${text} was not understood`);
    return matchesSelector(selector, labels);
  };

  it.each([
    ['app=web', true],
    ['app==web', true],
    ['app!=web', false],
    ['tier!=db', true],
    ['app in (web, db)', true],
    ['app notin (web,db)', false],
    ['tier notin (db)', true],
    ['app', true],
    ['!app', false],
    ['!tier', true],
    ['app in (web),!tier,app!=db', true],
    ['empty=', true],
    ['', true],
  ])('%p on app=web and an empty label is %p', (text, expected) => {
    expect(matches(text, { app: 'web', empty: '' })).toBe(expected);
  });

  it('is rejected if it is invalid', () => {
    expect(parseLabelSelector('app in web')).toBeUndefined();
  });
});

describe('A field selector', () => {
  it('compares fields as text, absent ones as empty', () => {
    const pod = { metadata: { name: 'a' }, spec: { nodeName: 'n1' }, status: { phase: 'Running' } };
    const matches = (text: string): boolean => matchesFields(parseFieldSelector(text) ?? [], pod);

    expect(matches('spec.nodeName=n1,status.phase!=Failed')).toBe(true);
    expect(matches('spec.nodeName=')).toBe(false);
    expect(matches('status.podIP=')).toBe(true);
  });

  it('is supported only for fields that the API server indexes', () => {
    expect(unsupportedField('pods', parseFieldSelector('spec.nodeName=a,spec.hostname=b') ?? [])).toBe('spec.hostname');
    expect(unsupportedField('configmaps', parseFieldSelector('metadata.name=a') ?? [])).toBeUndefined();
  });
});

describe('A quantity', () => {
  it('rounds percentages as the field requires', () => {
    expect(scaledValue('25%', 10, 'up')).toBe(3);
    expect(scaledValue('25%', 10, 'down')).toBe(2);
    expect(scaledValue(4, 10, 'down')).toBe(4);
  });
});
