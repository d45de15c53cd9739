import { describe, expect, it } from '@jest/globals';
import { digestOf, indexed } from '../../test/fake.repository.js';
import { planOf } from './catalogue.planner.js';

const RANGE = { range: '>=8.0.0 <9.0.0', keep: 2 };
const versionsOf = (list: readonly { readonly version: string }[]) => list.map(({ version }) => version);

describe('the plan of an application', () => {
  it('keeps the newest versions of the range, in semantic version order [azimuth 33]', () => {
    const index = ['8.2.0', '9.0.0', '8.10.0', '7.9.9', '8.9.1'].map((version) => indexed(version));
    const { keep, download, remove } = planOf(RANGE, index, []);
    expect([versionsOf(keep), versionsOf(download), remove]).toEqual([['8.10.0', '8.9.1'], ['8.10.0', '8.9.1'], []]);
  });

  it('skips deprecated entries, pre-releases outside the range and invalid versions', () => {
    const index = [
      indexed('8.3.0', { deprecated: true }),
      indexed('8.4.0-rc.1'),
      indexed('latest'),
      indexed('8.1.0+build.1'),
      indexed('8.1.0'),
    ];
    expect(versionsOf(planOf(RANGE, index, []).keep)).toEqual(['8.1.0+build.1']);
  });

  it('downloads no version that is known with the same digest, and downloads a version with a changed digest again', () => {
    const index = [indexed('8.2.0'), indexed('8.1.0', { digest: digestOf('b') }), indexed('8.0.0')];
    const known = [
      { version: '8.2.0', digest: digestOf('a') },
      { version: '8.1.0', digest: digestOf('a') },
      { version: '8.0.0', digest: digestOf('a') },
    ];
    const { download, remove } = planOf(RANGE, index, known);
    expect([versionsOf(download), remove]).toEqual([['8.1.0'], ['8.0.0']]);
  });

  it('lists a few existing versions if none matches', () => {
    const index = Array.from({ length: 9 }, (_, minor) => indexed(`7.${minor}.0`));
    expect(planOf(RANGE, index, []).others).toEqual(['7.8.0', '7.7.0', '7.6.0', '7.5.0', '7.4.0']);
  });
});
