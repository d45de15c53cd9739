import { createHash } from 'node:crypto';
import { parseArguments, type ParsedArguments } from '../../arguments/arguments.js';
import type { EtcdMemberReport } from './etcd.members.js';

/** The etcd that the stand-ins of etcdctl and etcdutl operate on. */
export interface EtcdUnderTool {
  readonly name: string;
  members(): readonly EtcdMemberReport[];
  hasQuorum(): boolean;
  revision(): number;
  keys(): number;
  /** All current keys and values. */
  contents(): Buffer;
  moveLeader(name: string): boolean;
  removeMember(name: string): void;
  /** Adds a learner that has not started. Returns false if the peer URL is already in use. */
  announce(peerUrl: string): boolean;
  promote(name: string): void;
}

/** The environment of a tool: the local member and the accessible files. */
export interface ToolCall {
  readonly etcd: EtcdUnderTool;
  /** The name of the member in whose container the tool runs. */
  readonly self: string;
  readonly files: Map<string, Buffer>;
}

export interface ToolResult {
  readonly stdout: string | Buffer;
  readonly stderr: string;
  readonly exitCode: number;
}

const OPTIONS_WITH_VALUE = [
  '--endpoints',
  '--cacert',
  '--cert',
  '--key',
  '--command-timeout',
  '-w',
  '--write-out',
  '--peer-urls',
];
/** etcdctl's exit code for invalid arguments or endpoints. */
const BAD_USE = 128;
const RAFT_TERM = 2;
const QUOTA_BYTES = 2 * 1024 ** 3;

const printed = (stdout: string | Buffer, stderr = '', exitCode = 0): ToolResult => ({ stdout, stderr, exitCode });
const failed = (stderr: string, exitCode = 1): ToolResult => ({ stdout: '', stderr: `${stderr}\n`, exitCode });

/** etcd prints 64-bit IDs as JSON numbers that exceed the precision of a double, so they are inserted as text. */
const bare = (id: string): string => `<${BigInt(`0x${id}`).toString()}>`;
const jsonText = (value: unknown): string => `${JSON.stringify(value).replaceAll(/"<(\d+)>"/g, '$1')}\n`;

const clusterId = (etcd: EtcdUnderTool): string => createHash('sha256').update(etcd.name).digest('hex').slice(0, 16);

const headerOf = (etcd: EtcdUnderTool, member: EtcdMemberReport | undefined): object => ({
  cluster_id: bare(clusterId(etcd)),
  member_id: bare(member?.id ?? '0'),
  revision: etcd.revision(),
  raft_term: RAFT_TERM,
});

/** `etcdctl` with the messages and formats of 3.5 and 3.6. */
export const etcdctl = (call: ToolCall, args: readonly string[]): ToolResult => {
  const parsed = parseArguments(args, OPTIONS_WITH_VALUE);
  const self = call.etcd.members().find(({ name }) => name === call.self);
  if (self === undefined || !self.running) return failed('Error: context deadline exceeded');
  const [subject, verb] = parsed.positional;
  switch (subject === 'move-leader' ? subject : `${subject} ${verb}`) {
    case 'member list':
      return listMembers(call, parsed);
    case 'member add':
      return addMember(call, parsed);
    case 'member promote':
      return promoteMember(call, parsed.positional[2] ?? '');
    case 'member remove':
      return removeMember(call, parsed.positional[2] ?? '');
    case 'endpoint health':
      return endpointHealth(call, parsed);
    case 'endpoint status':
      return endpointStatus(call);
    case 'alarm list':
      return listAlarms(call, self);
    case 'move-leader':
      return moveLeader(call, self, parsed.positional[1] ?? '');
    case 'del ':
      return deleteAll(call, parsed);
    case 'snapshot save':
      return saveSnapshot(call, parsed.positional[2] ?? '');
    default:
      return failed(`Error: etcdctl ${subject ?? ''} ${verb ?? ''} is not simulated by Fairlead lab`);
  }
};

/** `etcdutl check v2store` with the messages of 3.5.35; 3.6 has no such command. */
const checkV2Store = (call: ToolCall): ToolResult => {
  if (!versionOf(call).startsWith('3.5')) return failed('Error: unknown command "check" for "etcdutl"');
  const self = call.etcd.members().find(({ name }) => name === call.self);
  return self?.v2Content === true
    ? failed('Error: detected custom v2 content in WAL records')
    : printed('No custom content found in both v2store and WAL records.\n');
};

/** `etcdutl snapshot status FILE -w json` and `etcdutl check v2store`. */
export const etcdutl = (call: ToolCall, args: readonly string[]): ToolResult => {
  const parsed = parseArguments(args, OPTIONS_WITH_VALUE);
  const [subject, verb, path = ''] = parsed.positional;
  if (`${subject} ${verb}` === 'check v2store') return checkV2Store(call);
  if (`${subject} ${verb}` !== 'snapshot status')
    return failed(`Error: etcdutl ${subject ?? ''} ${verb ?? ''} is not simulated by Fairlead lab`);
  const file = call.files.get(path);
  if (file === undefined) return failed(`Error: stat ${path}: no such file or directory`);
  const body = file.subarray(0, -SHA256_BYTES);
  if (!sha256(body).equals(file.subarray(-SHA256_BYTES))) return failed('Error: invalid database');
  const { revision, keys } = JSON.parse(body.toString('utf8')) as { revision: number; keys: number };
  const version = versionOf(call).startsWith('3.5') ? '' : '3.6.0';
  return printed(jsonText({ hash: body.readUInt32LE(0), revision, totalKey: keys, totalSize: body.length, version }));
};

const SHA256_BYTES = 32;
const sha256 = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();
const versionOf = ({ etcd, self }: ToolCall): string => etcd.members().find(({ name }) => name === self)?.version ?? '';
const wantsJson = (parsed: ParsedArguments): boolean => parsed.value('-w', '--write-out') === 'json';

const listMembers = ({ etcd, self }: ToolCall, parsed: ParsedArguments): ToolResult => {
  const members = etcd.members();
  if (!wantsJson(parsed))
    return printed(
      members
        .map(
          ({ id, name, peerUrl, clientUrl, learner }) =>
            `${id}, ${name === '' ? 'unstarted' : 'started'}, ${name}, ${peerUrl}, ${clientUrl}, ${learner}\n`,
        )
        .join(''),
    );
  const { revision: _, ...header } = headerOf(
    etcd,
    members.find(({ name }) => name === self),
  ) as { revision: number };
  return printed(
    jsonText({
      header,
      members: members.map(({ id, name, peerUrl, clientUrl, learner }) => ({
        ID: bare(id),
        name,
        peerURLs: [peerUrl],
        ...(clientUrl === '' ? {} : { clientURLs: [clientUrl] }),
        ...(learner ? { isLearner: true } : {}),
      })),
    }),
  );
};

/** etcd's --strict-reconfig-check: all voting members must be connected. */
const addMember = ({ etcd }: ToolCall, parsed: ParsedArguments): ToolResult => {
  const url = parsed.value('--peer-urls') ?? '';
  if (!parsed.has('--learner')) return failed('Error: only learners are added in Fairlead lab');
  const voters = etcd.members().filter(({ learner }) => !learner);
  if (!voters.every(({ running }) => running)) return failed('Error: etcdserver: unhealthy cluster');
  if (etcd.members().some(({ learner }) => learner))
    return failed('Error: etcdserver: too many learner members in cluster');
  if (!etcd.announce(url)) return failed('Error: etcdserver: Peer URLs already exists');
  const id = etcd.members().find(({ peerUrl }) => peerUrl === url)?.id ?? '';
  return printed(`Member ${id} added to cluster ${clusterId(etcd)}\n`);
};

const promoteMember = ({ etcd }: ToolCall, id: string): ToolResult => {
  const member = etcd.members().find((candidate) => candidate.id === id);
  if (member === undefined) return failed('Error: etcdserver: member not found');
  if (!member.learner) return failed('Error: etcdserver: can only promote a learner member');
  if (!member.running)
    return failed('Error: etcdserver: can only promote a learner member which is in sync with leader');
  etcd.promote(member.name);
  return printed(`Member ${id} promoted in cluster ${clusterId(etcd)}\n`);
};

const removeMember = ({ etcd }: ToolCall, id: string): ToolResult => {
  const member = etcd.members().find((candidate) => candidate.id === id);
  if (member === undefined) return failed('Error: etcdserver: member not found');
  if (!etcd.hasQuorum()) return failed('Error: etcdserver: request timed out');
  etcd.removeMember(member.name);
  return printed(`Member ${id} removed from cluster ${clusterId(etcd)}\n`);
};

/** `--cluster` uses the client URLs that the members advertise; a member that has not started has none. */
const started = (etcd: EtcdUnderTool): readonly EtcdMemberReport[] =>
  etcd.members().filter(({ clientUrl }) => clientUrl !== '');

const endpointHealth = ({ etcd }: ToolCall, parsed: ParsedArguments): ToolResult => {
  const answers = started(etcd).map(({ clientUrl, running }) => ({ clientUrl, healthy: running && etcd.hasQuorum() }));
  const well = answers.every(({ healthy }) => healthy);
  const error = well ? '' : 'Error: unhealthy cluster\n';
  if (wantsJson(parsed)) {
    const text = jsonText(
      answers.map(({ clientUrl: endpoint, healthy }) =>
        healthy
          ? { endpoint, health: true, took: '2.1ms' }
          : { endpoint, health: false, took: '2.0s', error: 'context deadline exceeded' },
      ),
    );
    return printed(text, error, well ? 0 : 1);
  }
  const lines = (desired: boolean, words: string): string =>
    answers
      .filter(({ healthy }) => healthy === desired)
      .map(({ clientUrl }) => `${clientUrl} ${words}\n`)
      .join('');
  const good = lines(true, 'is healthy: successfully committed proposal: took = 2.1ms');
  const bad = lines(false, 'is unhealthy: failed to commit proposal: context deadline exceeded');
  return printed(good, `${bad}${error}`, well ? 0 : 1);
};

const endpointStatus = ({ etcd }: ToolCall): ToolResult => {
  const members = started(etcd);
  const leader = members.find((member) => member.leader);
  const silent = members.filter(({ running }) => !running);
  const statuses = members
    .filter(({ running }) => running)
    .map((member) => {
      const index = etcd.revision() + members.length;
      const is36 = !member.version.startsWith('3.5');
      return {
        Endpoint: member.clientUrl,
        Status: {
          header: headerOf(etcd, member),
          version: member.version,
          dbSize: member.dbSizeBytes,
          leader: bare(leader?.id ?? '0'),
          raftIndex: index,
          raftTerm: RAFT_TERM,
          raftAppliedIndex: index - (member.behind ?? 0),
          ...(member.alarm === undefined
            ? {}
            : { errors: [`memberID:${BigInt(`0x${member.id}`)} alarm:${member.alarm} `] }),
          dbSizeInUse: member.dbSizeBytes,
          ...(member.learner ? { isLearner: true } : {}),
          ...(is36 ? { storageVersion: '3.6.0', dbSizeQuota: QUOTA_BYTES, downgradeInfo: {} } : {}),
        },
      };
    });
  const words = silent.map(
    ({ clientUrl }) => `Failed to get the status of endpoint ${clientUrl} (context deadline exceeded)\n`,
  );
  return printed(jsonText(statuses), words.join(''), silent.length === 0 ? 0 : 1);
};

const ALARM_NUMBERS = { NOSPACE: 1, CORRUPT: 2 } as const;

const listAlarms = ({ etcd }: ToolCall, self: EtcdMemberReport): ToolResult => {
  const alarms = etcd
    .members()
    .flatMap(({ id, alarm }) => (alarm === undefined ? [] : [{ memberID: bare(id), alarm: ALARM_NUMBERS[alarm] }]));
  return printed(jsonText({ header: headerOf(etcd, self), ...(alarms.length === 0 ? {} : { alarms }) }));
};

const moveLeader = ({ etcd }: ToolCall, self: EtcdMemberReport, id: string): ToolResult => {
  if (!self.leader) return failed(`Error: no leader endpoint given at [https://127.0.0.1:2379]`, BAD_USE);
  const member = etcd.members().find((candidate) => candidate.id === id);
  if (member === undefined || !etcd.moveLeader(member.name)) return failed('Error: etcdserver: bad leader transferee');
  return printed(`Leadership transferred from ${self.id} to ${id}\n`);
};

/** Contents are not stored by etcd key, so only an empty etcd can be cleared. */
const deleteAll = ({ etcd }: ToolCall, parsed: ParsedArguments): ToolResult => {
  if (!parsed.has('--prefix') || etcd.keys() > 0)
    return failed('Error: etcdctl del of what a cluster uses is not simulated by Fairlead lab');
  return etcd.hasQuorum() ? printed('0\n') : failed('Error: context deadline exceeded');
};

/** Like a real etcd snapshot, this one ends with the SHA-256 of its body, which is JSON instead of bbolt. */
const saveSnapshot = ({ etcd, files }: ToolCall, path: string): ToolResult => {
  if (!etcd.hasQuorum()) return failed('Error: rpc error: code = DeadlineExceeded desc = context deadline exceeded');
  const body = etcd.contents();
  files.set(path, Buffer.concat([body, sha256(body)]));
  return printed(`Snapshot saved at ${path}\n`);
};
