import type { ClusterUid } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { groupMark, markIn } from './openstack.marks.js';

const uid = '11111111-1111-4111-8111-111111111111' as ClusterUid;
const server = '22222222-2222-4222-8222-222222222222';

describe('the mark of a resource in OpenStack', () => {
  it('names group, cluster and server', () => {
    const mark = groupMark({ name: 'default.demo.site', uid }, server);
    expect(mark).toBe(`fairlead/default.demo.site/${uid}/${server}`);
    expect(markIn(mark, 'site')).toEqual({ group: 'default.demo.site', uid, of: server });
  });

  it('of the longest names has the 255 characters that Neutron and Nova accept, with uid and connection whole', () => {
    const [namespace, cluster, connection] = ['n', 'c', 'x'].map((letter) => letter.repeat(63));
    const mark = groupMark({ name: `${namespace}.${cluster}.${connection}`, uid }, server);
    expect(mark).toHaveLength(255);
    expect(markIn(mark, connection!)).toMatchObject({ uid, of: server });
    expect(markIn(mark, 'another')).toBeUndefined();
  });
});
