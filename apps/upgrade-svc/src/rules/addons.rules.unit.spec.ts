import type { Addon, Fact } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { UID } from '../../test/model.js';
import { addonStandingsAfter, type AddonStanding, type AddonStandings } from './addon.standings.js';
import { addonProblems, b14Addons, c9AddonsGate } from './addons.rules.js';

const addon = (fields: object = {}): Addon => ({ name: 'guard', version: '1.0.0', ...fields }) as unknown as Addon;
const standing = (fields: Partial<AddonStanding> & { readonly of?: object } = {}): AddonStanding => {
  const { of = {}, ...others } = fields;
  return { addon: addon(of), fingerprint: 'f', declaration: 'e', isDeployed: true, problem: null, ...others };
};
const rulesOf = (standings: readonly AddonStanding[], ...path: readonly string[]): readonly string[] =>
  b14Addons(standings, path).map(({ sentence }) => sentence);

describe('B14 add-ons before an upgrade', () => {
  it.each([
    ['nothing', {}, []],
    ['the target', { max: '1.35' }, []],
    ['an earlier version only', { max: '1.34' }, ['the add-on guard supports Kubernetes up to 1.34, and not v1.35.4']],
    ['later versions only', { min: '1.36' }, ['the add-on guard supports Kubernetes from 1.36, and not v1.34.4']],
    [
      'no version in between',
      { min: '1.34', max: '1.34' },
      ['the add-on guard supports Kubernetes from 1.34 up to 1.34, and not v1.35.4'],
    ],
  ])('that say that they support %s', (_title, kubernetes, sentences) =>
    expect(rulesOf([standing({ of: { kubernetes } })], 'v1.34.4', 'v1.35.4')).toEqual(sentences),
  );

  it('upgraded first must be deployed as declared; those upgraded after it need not', () => {
    const open = { isDeployed: false };
    expect(rulesOf([standing(open)], 'v1.35.4')).toEqual([
      'the add-on guard goes before the control plane: it is not deployed as declared yet',
    ]);
    expect(rulesOf([standing({ problem: 'helm upgrade on guard failed: no' })], 'v1.35.4')).toEqual([
      'the add-on guard goes before the control plane: helm upgrade on guard failed: no',
    ]);
    expect(
      rulesOf([standing({ ...open, of: { upgradeOrder: 'after', kubernetes: { min: '1.35' } } })], 'v1.34.9'),
    ).toEqual([]);
  });

  it('are a gate only if any of them must be healthy', () => {
    expect(c9AddonsGate([])).toEqual([]);
    expect(c9AddonsGate([standing({ isDeployed: false, of: { upgradeOrder: 'after' } })])).toEqual([]);
    expect(c9AddonsGate([standing()])).toEqual(['add-ons']);
    expect(addonProblems([standing(), standing({ problem: 'no' })])).toEqual(['guard: no']);
  });
});

describe('the state of add-ons', () => {
  const declaring = (...addons: readonly Addon[]): Fact =>
    ({ type: 'ClusterSpecChanged', data: { uid: UID, spec: { addons } } }) as unknown as Fact;
  const said = (type: string, declaration: string, data: object = {}): Fact =>
    ({ type, data: { uid: UID, addon: 'guard', declaration, ...data } }) as unknown as Fact;
  const after = (...facts: readonly Fact[]): AddonStandings =>
    facts.reduce<AddonStandings>((before, fact, at) => addonStandingsAfter(before, stored(fact, at + 1)), {});
  const idOf = (fact: Fact, at: number): string => stored(fact, at).meta.id;

  it('depends on the last declaration alone', () => {
    const first = declaring(addon());
    const deployed = said('AddonDeployed', idOf(first, 1));
    expect(after(first)['guard']).toMatchObject({ isDeployed: false, problem: null });
    expect(after(first, deployed)['guard']).toMatchObject({ isDeployed: true });
    expect(after(first, deployed, first)['guard']).toMatchObject({ isDeployed: true });
    const other = declaring(addon({ version: '2.0.0' }));
    expect(after(first, deployed, other)['guard']).toMatchObject({ isDeployed: false });
    expect(after(first, other, deployed)['guard']).toMatchObject({ isDeployed: idOf(other, 2) === idOf(first, 1) });
    expect(after(first, declaring())).toEqual({});
  });

  it('has the failure or the external change until the add-on is deployed again', () => {
    const first = declaring(addon());
    const id = idOf(first, 1);
    const cause = { operation: 'helm upgrade', target: 'guard', message: 'no' };
    expect(after(first, said('AddonFailed', id, { cause }))['guard']?.problem).toBe('helm upgrade on guard failed: no');
    const drifted = said('AddonDrifted', id, { problems: ['gone'] });
    expect(after(first, drifted)['guard']?.problem).toBe('it was changed outside Fairlead: gone');
    expect(after(first, drifted, said('AddonDeployed', id))['guard']?.problem).toBeNull();
  });
});
