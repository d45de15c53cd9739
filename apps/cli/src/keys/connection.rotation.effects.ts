import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../api/api.js';
import type { ConnectionView } from '../api/views.js';
import { CliFailure } from '../failures.js';
import { formatDuration } from '../output/duration.js';

const POLL_MS = 500;
/** After this time without progress, advice on the cause is printed. */
const STILL_MS = 30_000;
/** The maximum number of hosts in one line. */
const NAMED_MAX = 5;

type SshKey = NonNullable<ConnectionView['sshKey']>;
type Rotation = NonNullable<SshKey['rotation']>;

export interface AwaitedRotation {
  readonly name: string;
  /** The last completed rotation before this request. */
  readonly before: string | undefined;
  readonly timeoutMs: number;
  readonly interrupted: AbortSignal;
  /** Prints a line of progress. */
  readonly tell: (line: string) => void;
}

const hostsText = (hosts: Rotation['hosts'], count: number): string => {
  const named = hosts.slice(0, NAMED_MAX).map(({ namespace, cluster, node }) => `${namespace}/${cluster}/${node}`);
  return named.length === 0 ? '' : `: ${named.join(', ')}${count > named.length ? ', ...' : ''}`;
};

const lineOf = ({ status, replaced, pending, hosts, problem }: Rotation): string => {
  if (status === 'requested') return problem === '' ? 'The new key is being created.' : `Trying again: ${problem}`;
  const done = `${replaced} hosts have the new key only, ${pending} still need the former one`;
  return `${done}${hostsText(hosts, pending)}${problem === '' ? '' : `. Trying again: ${problem}`}`;
};

/** An unreachable host is retried automatically; a permanently failed step requires a retry by the user. */
const stillText = ({ hosts }: Rotation): string => {
  const [first] = hosts;
  const cluster = first === undefined ? '<cluster>' : `${first.cluster} -n ${first.namespace}`;
  return `"fairlead cluster describe ${cluster}" shows what is wrong with these hosts; "fairlead cluster retry ${cluster}" continues where a step has failed.`;
};

/** The summary of a completed rotation. */
export const rotatedText = (name: string, { replaced, leftOut, hosts }: NonNullable<SshKey['rotated']>): string =>
  [
    `The SSH key of connection ${name} is rotated: ${replaced} hosts have the new key only, and the former one is destroyed.`,
    ...(leftOut === 0
      ? []
      : [
          `${leftOut} hosts were left out and cannot be reached over SSH${hostsText(hosts, leftOut)}. Replace their nodes.`,
        ]),
  ].join('\n');

/** Resolves to the connection when the rotation has ended; throws if it failed or timed out. */
export const untilRotated = async (api: Api, awaited: AwaitedRotation): Promise<ConnectionView> => {
  const { name, before, timeoutMs, interrupted, tell } = awaited;
  const startedAtMs = performance.now();
  let printed = '';
  let lineAtMs = startedAtMs;
  let isAdvised = false;
  for (;;) {
    const view = await api.get('/connections/{connection}', { connection: name });
    const { rotation = null, rotated = null } = view.sshKey ?? {};
    if (rotated !== null && rotated.time !== before) return view;
    if (rotation?.status === 'failed') throw failed(name, rotation);
    const line = rotation === null ? '' : lineOf(rotation);
    if (line !== '' && line !== printed) {
      tell(line);
      lineAtMs = performance.now();
    }
    printed = line;
    if (!isAdvised && rotation !== null && rotation.pending > 0 && performance.now() - lineAtMs >= STILL_MS) {
      tell(stillText(rotation));
      isAdvised = true;
    }
    if (performance.now() - startedAtMs >= timeoutMs) throw tooLong(name, timeoutMs, rotation);
    await sleep(POLL_MS, undefined, { signal: interrupted });
  }
};

const failed = (name: string, { problem }: Rotation): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.rotation-failed',
    message: `The rotation of the SSH key of connection ${name} stopped: ${problem}`,
    help: `Run "fairlead keys rotate connection ${name}" again: it continues where it stopped.`,
  });

const tooLong = (name: string, timeoutMs: number, rotation: Rotation | null): CliFailure =>
  new CliFailure('timed-out', {
    code: 'cli.timed-out',
    message: `The SSH key of connection ${name} was not rotated within ${formatDuration(timeoutMs)}; ${rotation?.pending ?? 0} hosts still need the former key${rotation === null ? '' : hostsText(rotation.hosts, rotation.pending)}`,
    help: `The rotation continues. "fairlead connection describe ${name}" shows its progress; "fairlead keys rotate connection ${name} --force" ends it without those hosts.`,
  });
