import { describe, expect, it } from '@jest/globals';
import { ClusterManifest, ClusterName, NodeShare, UserGate } from '@fairlead/contracts';
import * as z from 'zod';
import { issueWords } from './issue.words.js';

const wordsOf = (schema: z.ZodType, value: unknown): readonly string[] | undefined =>
  schema.safeParse(value, { error: issueWords }).error?.issues.map(({ message }) => message);

describe('What is wrong with a value', () => {
  it.each([
    [z.number(), 'two', 'must be a number, not a text'],
    [z.number(), null, 'must be a number, not null'],
    [z.int(), 1.5, 'must be a whole number, not 1.5'],
    [z.string(), 34, 'must be a text, not a number'],
    [z.string(), undefined, 'it is missing'],
    [z.boolean(), 'yes', 'must be true or false, not a text'],
    [z.array(z.string()), {}, 'must be a list, not an object'],
    [z.strictObject({}), [], 'must be an object, not a list'],
    [z.int().min(600), 60, 'must be at least 600'],
    [z.int().max(500), 501, 'must be at most 500'],
    [z.string().min(1), '', 'must not be empty'],
    [z.string().max(3), 'four', 'must have at most 3 characters'],
    [z.array(z.int()).max(1), [1, 2], 'must have at most 1 item'],
    [z.literal('Cluster'), 'Clutser', "must be Cluster, not 'Clutser'"],
    [z.enum(['keep', 'cleanup']), 'kep', "must be one of keep, cleanup, not 'kep'"],
    [z.enum(['keep', 'cleanup']), undefined, 'it is missing'],
    [z.string().regex(/^v\d+$/), 'x', 'must match /^v\\d+$/'],
    [z.iso.datetime(), 'tomorrow', 'must be a time such as 2026-11-21T08:00:00Z'],
    [NodeShare, {}, 'must be a number or a text, not an object'],
  ])('%# is a sentence about the value', (schema, value, words) => {
    expect(wordsOf(schema, value)).toEqual([words]);
  });

  it('names the known kinds', () => {
    expect(wordsOf(UserGate, { kind: 'htpt' })?.[0]).toMatch(/^must be one of .*http.*, not 'htpt'$/);
  });

  it('keeps the messages of a schema', () => {
    expect(wordsOf(ClusterName, 'Shop')).toEqual([
      'must be lowercase letters, digits and dashes, beginning with a letter and not ending with a dash',
    ]);
  });

  it('repeats neither long values nor values that must match a pattern, which may be secrets', () => {
    expect(wordsOf(z.enum(['a', 'b']), 'x'.repeat(100))).toEqual(['must be one of a, b']);
    expect(wordsOf(z.string().regex(/^[a-z]+$/), 'S3cret')).toEqual(['must match /^[a-z]+$/']);
  });

  it('has a sentence for a manifest of another kind', () => {
    const { error } = ClusterManifest.safeParse({ kind: 'Clutser' }, { error: issueWords });
    expect(error?.issues.find(({ path }) => path[0] === 'kind')?.message).toBe("must be Cluster, not 'Clutser'");
  });
});
