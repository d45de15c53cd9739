import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { TestHost } from './host.fixtures.js';
import { renderStep } from './steps.js';

/** What real tools printed, with their version in the file's name: our scripts read exactly this. */
const recorded = (name: string): string =>
  readFileSync(new URL(`recorded/etcdctl-3.6.8.${name}.txt`, import.meta.url), 'utf8');

describe('what etcdctl of a real cluster prints', () => {
  let host: TestHost;
  const remove = renderStep('etcd-remove-member', { member: 'e3', address: '198.18.7.13', self: 'e1' }).script;
  const removals = (): readonly string[] => host.calls('etcdctl').filter((call) => call.includes('member remove'));

  /** etcdctl that prints what was recorded; it refuses the first removals so often. */
  const etcdctl = (list: string, refusals = 0): void => {
    host
      .write('/list', recorded(list))
      .write('/health', recorded('endpoint-health'))
      .write('/refused', recorded('member-remove.refused'))
      .standIn(
        'etcdctl',
        `case " $* " in
  *" member list "*) cat "$root/list";;
  *" endpoint health "*) cat "$root/health";;
  *" member remove "*)
    if [ "$(grep -c 'member remove' "$root/calls")" -le ${refusals} ]; then cat "$root/refused" >&2; exit 1; fi;;
esac`,
      )
      .standIn('sleep', 'exit 0');
  };

  beforeEach(() => {
    host = new TestHost();
  });
  afterEach(() => host.remove());

  it('names the member of a control plane', async () => {
    etcdctl('member-list');
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toEqual([expect.stringMatching(/member remove e1d4df4423670a2d$/)]);
  });

  it('names the member that an interrupted join left, which has no name, by its address', async () => {
    etcdctl('member-list.interrupted-join');
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toEqual([expect.stringMatching(/member remove ac199d40b5bd2d1$/)]);
  });

  it('is asked again while etcd refuses to change its membership, and not for ever', async () => {
    etcdctl('member-list', 3);
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toHaveLength(4);
    etcdctl('member-list', 1_000);
    expect(await host.run(remove)).toMatchObject({ code: 1, stderr: expect.stringContaining('unhealthy cluster') });
    expect(removals()).toHaveLength(4 + 8);
  });
});
