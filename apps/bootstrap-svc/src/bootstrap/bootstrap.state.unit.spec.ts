import { describe, expect, it } from '@jest/globals';
import { SOFTWARE } from './bootstrap.fixtures.js';
import { differenceFrom } from './bootstrap.state.js';

describe('the software reported by an agent', () => {
  const desired = { revision: 2, software: SOFTWARE };
  const reports = (revision: number, changes: Readonly<Record<string, string>>): string | undefined =>
    differenceFrom(desired, { revision, software: { ...SOFTWARE, ...changes } });

  it('matches the desired software', () => expect(reports(2, {})).toBeUndefined());

  it('may include the container runtime of its distribution, because Debian 12 has no other', () =>
    expect(reports(2, { containerd: '1.6.20' })).toBeUndefined());

  it('is not accepted for the runtime before the agent has the current revision', () =>
    expect(reports(1, { containerd: '1.6.20' })).toBe(`containerd is 1.6.20, not ${SOFTWARE['containerd']}`));

  it('must include the desired Kubernetes version and any runtime', () => {
    expect(reports(2, { kubelet: '1.33.0' })).toBe(`kubelet is 1.33.0, not ${SOFTWARE['kubelet']}`);
    const { containerd: _, ...without } = SOFTWARE;
    expect(differenceFrom(desired, { revision: 2, software: without })).toContain('containerd is missing');
  });
});
