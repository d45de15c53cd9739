import { EXTERNAL_ETCD, ExternalFailure, type NodeName } from '@fairlead/contracts';
import { inTime } from '@fairlead/service-kit';
import { createHash, randomUUID, type Hash } from 'node:crypto';
import type { NodeView, PodView, Program, ProgramEnd, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { EtcdFacts } from '../rules/cluster.facts.js';
import { etcdFactsOf, snapshotStatusOf, v2StoreCleanOf, type SnapshotStatus } from './etcd.answers.js';

const PKI = '/etc/kubernetes/pki/etcd';
/** The client certificate that kubeadm creates for etcd's own probes. */
const CLIENT = [
  '--endpoints=https://127.0.0.1:2379',
  `--cacert=${PKI}/ca.crt`,
  `--cert=${PKI}/healthcheck-client.crt`,
  `--key=${PKI}/healthcheck-client.key`,
];
const ASK_LIMIT = '--command-timeout=10s';
/** For a database of etcd's largest recommended size (8 GiB) on a slow disk. */
const SAVE_LIMIT = '--command-timeout=600s';
/**
 * In the container's own layer, so that it is removed with the container and no data folder grows. Unique per process,
 * because one that lost its partition, or was killed, may still have a program writing in the container.
 */
const SNAPSHOT_FILES = '/fairlead-snapshot';
const SNAPSHOT_FILE = `${SNAPSHOT_FILES}-${randomUUID().slice(0, 8)}.db`;
const EMPTY_LIMIT_MS = 15_000;
/** The file to which etcdctl writes until the snapshot is complete. */
const UNFINISHED_FILE = `${SNAPSHOT_FILE}.part`;
/** Truncates files that others left. The container has a shell but no rm. */
const EMPTY_ALL = `for f in ${SNAPSHOT_FILES}*; do [ ! -s "$f" ] || : > "$f"; done`;
const DATA_FOLDER = '--data-dir=/var/lib/etcd';
const SHA256_BYTES = 32;

/** A snapshot that was streamed off its node, with its status there. */
export interface TakenSnapshot extends SnapshotStatus {
  readonly node: string;
}

/**
 * The etcd leader, and the node to which leadership was moved; null: it is not one of the nodes, or leadership was not
 * moved.
 */
export interface Leadership {
  readonly leader: NodeName | null;
  readonly movedTo: NodeName | null;
}

/** The container with etcd's tools: that of etcd itself or, for an external etcd, that of a Fairlead pod. */
const containerOf = ({ labels }: PodView): string => labels['component'] ?? '';

const COMPONENTS: ReadonlySet<string> = new Set(['etcd', EXTERNAL_ETCD.component]);

const isRunning = (pod: PodView): boolean =>
  COMPONENTS.has(containerOf(pod)) && pod.phase === 'Running' && !pod.deleting;

/**
 * etcd, accessed through its own containers: they have its tools and certificates, so nothing has to be installed,
 * opened or copied (ADR 12). An external etcd is accessed through the containers next to its members (ADR 24). Only
 * responses of etcd itself are used, never Fairlead's records.
 */
export class Etcd {
  constructor(
    private readonly cluster: UpgradeCluster,
    private readonly signal: AbortSignal,
  ) {}

  /** All members as they see each other, from the first one that responds. */
  async facts(nodes: readonly Pick<NodeView, 'name'>[]): Promise<EtcdFacts> {
    return this.onAny('read etcd', async (pod) => {
      const ask = async (...words: readonly string[]): Promise<string> =>
        (await this.run(pod, ['etcdctl', ...CLIENT, ASK_LIMIT, ...words, '-w', 'json'])).stdout;
      const [memberList, endpointStatus, endpointHealth, alarmList] = await Promise.all([
        this.must(pod, ['etcdctl', ...CLIENT, ASK_LIMIT, 'member', 'list', '-w', 'json']),
        // These two exit with an error if a member is down; their output shows which.
        ask('endpoint', 'status', '--cluster'),
        ask('endpoint', 'health', '--cluster'),
        ask('alarm', 'list'),
      ]);
      return etcdFactsOf(
        { memberList, endpointStatus, endpointHealth, alarmList },
        nodes.map(({ name }) => name),
      );
    });
  }

  /** The same facts with the state of each member's v2 store (B10). Only reads, next to the running server. */
  async withV2Stores(facts: EtcdFacts): Promise<EtcdFacts> {
    const verdicts = await Promise.all(
      (await this.pods()).map(async (pod) => [pod.node, await this.v2Store(pod)] as const),
    );
    const clean = new Map<string | null, boolean | null>(verdicts);
    const members = facts.members.map((member) => ({ ...member, v2StoreClean: clean.get(member.node) ?? null }));
    return { ...facts, members };
  }

  private async v2Store(pod: PodView): Promise<boolean | null> {
    const folder = pod.args.find((word) => word.startsWith('--data-dir=')) ?? DATA_FOLDER;
    const end = await this.run(pod, ['etcdutl', 'check', 'v2store', folder]);
    const clean = v2StoreCleanOf(end);
    if (clean === undefined) throw this.failure('etcdutl check v2store', pod.node, end.stderr.trim());
    return clean;
  }

  /** Moves leadership to another member. Succeeds if it already leads. */
  async moveLeader(from: string, toMemberId: string): Promise<void> {
    const pods = await this.pods();
    const pod = pods.find(({ node }) => node === from);
    if (pod === undefined) throw this.failure('move the leader of etcd', from, 'its etcd does not run');
    // Only the leader itself accepts this command.
    await this.must(pod, ['etcdctl', ...CLIENT, ASK_LIMIT, 'move-leader', toMemberId]);
  }

  /** Before a member stops: otherwise etcd would have no leader until an election. */
  async moveLeaderAway({ members }: EtcdFacts, from: NodeName): Promise<Leadership> {
    const leader = members.find((member) => member.leader)?.node ?? null;
    if (leader !== from) return { leader, movedTo: null };
    const [to] = members
      .filter((member) => member.node !== null && member.node !== from && member.healthy && !member.learner)
      .toSorted((one, other) => one.behind - other.behind);
    if (to === undefined) throw this.failure('move the leader of etcd', from, 'no other member is healthy');
    await this.moveLeader(from, to.id);
    return { leader: to.node, movedTo: to.node };
  }

  /**
   * Saves a snapshot next to a member that does not lead, reads its status and streams it in chunks. One at a time per
   * cluster: files of others on the node are truncated first.
   */
  async snapshot(facts: EtcdFacts, take: (chunk: Buffer) => Promise<void>): Promise<TakenSnapshot> {
    const best = facts.members
      .filter(({ healthy, learner, node }) => healthy && !learner && node !== null)
      .sort((a, b) => Number(a.leader) - Number(b.leader) || a.behind - b.behind)[0];
    const pod = (await this.pods()).find(({ node }) => node === best?.node);
    if (pod === undefined)
      throw this.failure('etcdctl snapshot save', 'etcd', 'no member of etcd is well enough to be saved');
    await this.runShell(pod, EMPTY_ALL);
    await this.save(pod);
    try {
      const status = await this.statusOf(pod);
      await this.handOver(pod, take);
      return { ...status, node: pod.node };
    } finally {
      await this.empty(pod, SNAPSHOT_FILE);
    }
  }

  private async save(pod: PodView): Promise<void> {
    try {
      await this.must(pod, ['etcdctl', ...CLIENT, SAVE_LIMIT, 'snapshot', 'save', SNAPSHOT_FILE]);
    } catch (error) {
      // The part that was already written is just as secret. If truncating fails too, the original error is reported.
      await Promise.allSettled([SNAPSHOT_FILE, UNFINISHED_FILE].map((file) => this.empty(pod, file)));
      throw error;
    }
  }

  /** It contains every Secret of the cluster, and its space is freed at once; kubeadm's image has no rm. */
  private empty(pod: PodView, file: string): Promise<void> {
    return this.runShell(pod, `: > ${file}`);
  }

  /** Runs even if the work itself was aborted. */
  private async runShell(pod: PodView, script: string): Promise<void> {
    const at = { pod: pod.name, namespace: pod.namespace, container: containerOf(pod) };
    await inTime(EMPTY_LIMIT_MS, (signal) => this.cluster.run({ ...at, command: ['sh', '-c', script], signal }));
  }

  /** Supported by etcdutl since 3.5; older images have it in etcdctl. */
  private async statusOf(pod: PodView): Promise<SnapshotStatus> {
    const end = await this.run(pod, ['etcdutl', 'snapshot', 'status', SNAPSHOT_FILE, '-w', 'json']);
    if (end.exitCode === 0) return snapshotStatusOf(end.stdout);
    if (end.exitCode !== null) throw this.failure('etcdutl snapshot status', pod.node, end.stderr);
    return snapshotStatusOf(await this.must(pod, ['etcdctl', 'snapshot', 'status', SNAPSHOT_FILE, '-w', 'json']));
  }

  /** A snapshot ends with the SHA-256 of its body, so the received data can be verified here. */
  private async handOver(pod: PodView, take: (chunk: Buffer) => Promise<void>): Promise<void> {
    const check = new TrailingHash();
    const onOutput = async (chunk: Buffer): Promise<void> => {
      check.update(chunk);
      await take(chunk);
    };
    // kubeadm's image has cp but no cat; custom images often have it the other way round.
    const copied = await this.run(pod, ['cp', SNAPSHOT_FILE, '/dev/stdout'], onOutput);
    const end =
      copied.exitCode === null && check.bytes === 0 ? await this.run(pod, ['cat', SNAPSHOT_FILE], onOutput) : copied;
    if (check.matches()) return;
    const words = end.stderr.trim() === '' ? 'what arrived is not what was saved' : end.stderr;
    throw this.failure('read the snapshot of etcd', pod.node, `${words} (${check.bytes} bytes)`);
  }

  private async pods(): Promise<readonly PodView[]> {
    return (await this.cluster.staticPods()).filter(isRunning);
  }

  private async onAny<T>(operation: string, work: (pod: PodView) => Promise<T>): Promise<T> {
    let failure: unknown = this.failure(operation, 'etcd', 'no container of etcd runs');
    for (const pod of await this.pods()) {
      try {
        return await work(pod);
      } catch (error) {
        this.signal.throwIfAborted();
        failure = error;
      }
    }
    if (failure instanceof ExternalFailure) throw failure;
    throw this.failure(operation, 'etcd', failure instanceof Error ? failure.message : String(failure));
  }

  private run(pod: PodView, command: readonly string[], onOutput?: Program['onOutput']): Promise<ProgramEnd> {
    const { name, namespace } = pod;
    const program = { pod: name, namespace, container: containerOf(pod), command, signal: this.signal };
    return this.cluster.run(onOutput === undefined ? program : { ...program, onOutput });
  }

  private async must(pod: PodView, command: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await this.run(pod, command);
    if (exitCode === 0) return stdout;
    const words = command.filter((word) => !word.startsWith('-')).join(' ');
    throw this.failure(words, pod.node, stderr.trim() === '' ? `exit code ${String(exitCode)}` : stderr.trim());
  }

  private failure(operation: string, target: string, message: string): ExternalFailure {
    return new ExternalFailure({ operation, target, message });
  }
}

/** Hashes a stream except its last 32 bytes, and compares the hash with these. */
class TrailingHash {
  bytes = 0;
  private readonly hash: Hash = createHash('sha256');
  private tail = Buffer.alloc(0);

  update(chunk: Buffer): void {
    this.bytes += chunk.length;
    const all = Buffer.concat([this.tail, chunk]);
    const cut = Math.max(0, all.length - SHA256_BYTES);
    this.hash.update(all.subarray(0, cut));
    this.tail = all.subarray(cut);
  }

  matches(): boolean {
    return this.bytes > SHA256_BYTES && this.hash.digest().equals(this.tail);
  }
}
