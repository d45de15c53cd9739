import * as z from 'zod';
import type { NodeName } from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import type { EtcdFacts, EtcdMemberFacts } from '../rules/cluster.facts.js';

/** etcd's default (`--quota-backend-bytes`); 3.5 does not report its quota. */
const QUOTA_BYTES_DEFAULT = 2 * 1024 ** 3;
/** 64-bit IDs are JSON numbers that exceed the precision of a double. */
const LONG_NUMBER = /([:[,]\s*)(\d{16,})(?=\s*[,}\]])/g;
const ALARMS: Readonly<Record<number, string>> = { 1: 'NOSPACE', 2: 'CORRUPT' };

const id = z.union([z.string(), z.number()]).transform((number) => BigInt(number).toString(16).padStart(16, '0'));
const count = z.union([z.string(), z.number()]).transform(Number);

const MemberList = z.object({
  members: z.array(
    z.object({
      ID: id,
      name: z.string().default(''),
      clientURLs: z.array(z.string()).default([]),
      peerURLs: z.array(z.string()).default([]),
      isLearner: z.boolean().default(false),
    }),
  ),
});

const EndpointStatus = z.array(
  z.object({
    Endpoint: z.string(),
    Status: z.object({
      header: z.object({ member_id: id, revision: count.default(0) }),
      version: z.string(),
      dbSize: count,
      leader: id.optional(),
      raftIndex: count,
      raftAppliedIndex: count,
      dbSizeQuota: count.optional(),
    }),
  }),
);

const EndpointHealth = z.array(z.object({ endpoint: z.string(), health: z.boolean(), error: z.string().optional() }));

const AlarmList = z.object({ alarms: z.array(z.object({ memberID: id, alarm: z.number() })).default([]) });

const SnapshotStatus = z.object({
  hash: z.number(),
  revision: z.number(),
  totalKey: z.number(),
  totalSize: z.number(),
});
export type SnapshotStatus = z.infer<typeof SnapshotStatus>;

/** Enough for a few members; the output of a command on a host may have up to 4 MiB. */
const ANSWER_LENGTH_MAX = 1_048_576;

const parse = (text: string): unknown =>
  parseJson(text.replaceAll(LONG_NUMBER, '$1"$2"'), { lengthMax: ANSWER_LENGTH_MAX });

/** The line with JSON, without the warnings and errors that etcdctl prints around it. */
const jsonLineOf = (output: string): string =>
  output
    .split('\n')
    .map((line) => line.trim())
    .findLast((line) => (line.startsWith('{') || line.startsWith('[')) && !line.startsWith('{"level"')) ?? '';

/** The output of etcdctl with `-w json`. */
export interface EtcdAnswers {
  readonly memberList: string;
  readonly endpointStatus: string;
  readonly endpointHealth: string;
  readonly alarmList: string;
}

/** The state of etcd from four outputs of etcdctl 3.5 or 3.6. Throws if they are invalid. */
export const etcdFactsOf = (answers: EtcdAnswers, nodes: readonly string[]): EtcdFacts => {
  const { members } = MemberList.parse(parse(jsonLineOf(answers.memberList)));
  const statuses = EndpointStatus.parse(parse(jsonLineOf(answers.endpointStatus))).map(({ Status }) => Status);
  const health = EndpointHealth.parse(parse(jsonLineOf(answers.endpointHealth)));
  const { alarms } = AlarmList.parse(parse(jsonLineOf(answers.alarmList)));
  const newest = Math.max(0, ...statuses.map(({ raftIndex }) => raftIndex));
  const leader = statuses.find(({ leader: known }) => known !== undefined && BigInt(`0x${known}`) !== 0n)?.leader;
  const nameOf = (member: string): string => members.find(({ ID }) => ID === member)?.name || member;
  return {
    members: members.map(({ ID, name, clientURLs, peerURLs, isLearner }): EtcdMemberFacts => {
      const status = statuses.find(({ header }) => header.member_id === ID);
      return {
        id: ID,
        // A member that was added but has not started has no name yet and is identified by its ID and peer URL.
        name: name === '' ? `member ${ID} (${peerURLs[0] ?? 'no address'})` : name,
        node: (nodes.find((node) => node === name) ?? null) as NodeName | null,
        started: name !== '',
        healthy: health.some(({ endpoint, health: well }) => well && clientURLs.includes(endpoint)),
        learner: isLearner,
        leader: ID === leader,
        version: status?.version ?? '',
        dbBytes: status?.dbSize ?? 0,
        behind: status === undefined ? newest : newest - status.raftAppliedIndex,
        v2StoreClean: null,
      };
    }),
    alarms: alarms.map(({ memberID, alarm }) => ({ member: nameOf(memberID), alarm: ALARMS[alarm] ?? String(alarm) })),
    quotaBytes: Math.min(...statuses.map(({ dbSizeQuota }) => dbSizeQuota ?? QUOTA_BYTES_DEFAULT), Infinity),
  };
};

/** Parses the output of `etcdutl snapshot status -w json`. */
export const snapshotStatusOf = (output: string): SnapshotStatus => SnapshotStatus.parse(parse(jsonLineOf(output)));

/**
 * The result of `etcdutl check v2store`: whether no user data are left in the v2 store. null: this etcdutl lacks the
 * command, like that of 3.6; undefined: it failed.
 */
export const v2StoreCleanOf = (end: {
  readonly exitCode: number | null;
  readonly stderr: string;
}): boolean | null | undefined => {
  if (end.exitCode === 0) return true;
  if (/detected custom v2 ?(store )?content/i.test(end.stderr)) return false;
  return /unknown command/.test(end.stderr) ? null : undefined;
};
