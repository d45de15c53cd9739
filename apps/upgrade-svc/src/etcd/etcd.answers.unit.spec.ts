import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { QUESTIONS, type Question } from '../../../../test/recorded/questions.js';
import { recorded as recordedOnHost, RECORDED_VERSIONS } from '../../../../test/recorded/recorded.js';
import { etcdFactsOf, snapshotStatusOf, v2StoreCleanOf, type EtcdAnswers } from './etcd.answers.js';

/** Output of the real etcdctl and etcdutl 3.6.8 for three real servers of the version in the name. */
interface Recorded extends EtcdAnswers {
  readonly oneMemberDown: Pick<EtcdAnswers, 'endpointHealth' | 'endpointStatus'>;
  readonly snapshotStatus: string;
}
const recorded = (version: string): Recorded =>
  JSON.parse(readFileSync(new URL(`recorded/etcdctl-3.6.8-of-${version}.json`, import.meta.url), 'utf8')) as Recorded;

const NODES = ['cp-1', 'cp-2', 'cp-3', 'w-1'];

it.each([
  ['v1.33.13', true],
  ['v1.34.4', null],
] as const)('the output of etcdutl %s about the v2 store', (kubernetes, clean) => {
  const stderr = recordedOnHost(kubernetes, QUESTIONS.v2Store);
  const exitCode = Number(/^\(exit code (\d+)\)$/m.exec(stderr)?.[1] ?? 0);
  expect(v2StoreCleanOf({ exitCode, stderr })).toBe(clean);
});

describe('The output of the real etcdctl', () => {
  it.each(['3.5.35', '3.6.8'])('of %s is parsed with all digits of its 64-bit IDs', (version) => {
    const { members, alarms, quotaBytes } = etcdFactsOf(recorded(version), NODES);
    expect(members.map(({ name }) => name).sort()).toEqual(['cp-1', 'cp-2', 'cp-3']);
    expect(members.filter(({ leader }) => leader)).toHaveLength(1);
    for (const member of members)
      expect(member).toMatchObject({
        started: true,
        healthy: true,
        learner: false,
        version,
        behind: 0,
        dbBytes: 20_480,
      });
    expect(members.find(({ name }) => name === 'cp-1')?.id).toBe(
      version === '3.5.35' ? '1e538232f1a33ff2' : 'ddd67b312462fd7b',
    );
    expect(alarms).toEqual([]);
    expect(quotaBytes).toBe(2 * 1024 ** 3);
  });

  it.each(['3.5.35', '3.6.8'])('of %s distinguishes a member that is down from healthy ones', (version) => {
    const { oneMemberDown, ...well } = recorded(version);
    const { members } = etcdFactsOf({ ...well, ...oneMemberDown }, NODES);
    expect(members.find(({ name }) => name === 'cp-3')).toMatchObject({ healthy: false, version: '', leader: false });
    expect(
      members
        .filter(({ healthy }) => healthy)
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['cp-1', 'cp-2']);
  });

  it('is found among the warnings that are printed around it', () => {
    const answers = recorded('3.6.8');
    const noisy = `{"level":"warn","msg":"unrecognized environment variable"}\n${answers.memberList}\nError: unhealthy cluster\n`;
    expect(etcdFactsOf({ ...answers, memberList: noisy }, NODES).members).toHaveLength(3);
  });

  it('includes alarms, learners and members that have not started yet', () => {
    const answers = recorded('3.6.8');
    const cp1 = '15985099378392235387';
    const { members, alarms } = etcdFactsOf(
      {
        ...answers,
        alarmList: `{"header":{},"alarms":[{"memberID":${cp1},"alarm":1}]}`,
        memberList: answers.memberList.replace(
          ']}]}',
          `]},{"ID":4,"peerURLs":["https://10.0.0.4:2380"],"isLearner":true}]}`,
        ),
      },
      NODES,
    );
    expect(alarms).toEqual([{ member: 'cp-1', alarm: 'NOSPACE' }]);
    expect(members.at(-1)).toMatchObject({ started: false, learner: true, healthy: false, node: null });
    expect(members.at(-1)?.name).toBe('member 0000000000000004 (https://10.0.0.4:2380)');
  });

  it('of a snapshot contains its revision and its keys', () =>
    expect(snapshotStatusOf(recorded('3.6.8').snapshotStatus)).toMatchObject({
      revision: 6,
      totalKey: 5,
      totalSize: 20_480,
    }));

  it('is an error if it is something else', () =>
    expect(() =>
      etcdFactsOf({ ...recorded('3.6.8'), memberList: 'Error: context deadline exceeded' }, NODES),
    ).toThrow());
});

describe.each(RECORDED_VERSIONS)("The output of etcd's tools on a real control plane of %s", (kubernetes) => {
  const said = (question: Question): string => recordedOnHost(kubernetes, QUESTIONS[question]);

  it('contains its one member, which leads and is healthy', () => {
    const { members, alarms } = etcdFactsOf(
      {
        memberList: said('membersJson'),
        endpointStatus: said('statusJson'),
        endpointHealth: said('healthJson'),
        alarmList: said('alarmsJson'),
      },
      ['cp-1'],
    );
    expect(members).toEqual([
      expect.objectContaining({ name: 'cp-1', node: 'cp-1', started: true, healthy: true, leader: true, behind: 0 }),
    ]);
    expect(said('etcdctl')).toContain(`etcdctl version: ${members[0]?.version}`);
    expect(alarms).toEqual([]);
  });

  it('of a snapshot contains its revision and its keys', () => {
    const { revision, totalKey, totalSize } = snapshotStatusOf(said('snapshotStatus'));
    expect([revision, totalKey, totalSize].every((number) => number > 0)).toBe(true);
  });
});

/** Output of the real etcdutl for the folder of a running etcd 3.5.35 with --enable-v2. */
describe('The output of the real etcdutl about the v2 store', () => {
  it.each([
    ['nothing is in it', { exitCode: 0, stderr: '' }, true],
    ['someone wrote a key', { exitCode: 1, stderr: 'Error: detected custom v2 content in WAL records\n' }, false],
    ['3.6.8 is asked', { exitCode: 1, stderr: 'Error: unknown command "check" for "etcdutl"\n' }, null],
    ['the folder is not there', { exitCode: 1, stderr: 'Error: stat /var/lib/etcd: no such file' }, undefined],
  ] as const)('when %s', (_, end, clean) => expect(v2StoreCleanOf(end)).toBe(clean));
});
