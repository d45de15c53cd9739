import { randomUUID } from 'node:crypto';
import { Option, type Command } from 'commander';
import type { Accepted } from '../api/api.js';
import type { ClusterAt, EtcdRequestView, EtcdSnapshotView } from '../api/views.js';
import { clusterAt } from '../command/session.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm as ask, type ConfirmOptions } from '../command/confirm.js';
import { sayFormer } from '../command/former.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import type { Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';
import type { CommandOutput } from '../output/format.js';
import { optional } from '../output/table.js';

const WAIT_DEFAULT_MS = 30 * 60_000;
const MS_PER_SECOND = 1_000;

export const addEtcdCommands = (program: Command, io: Io): void => {
  const etcd = addGroup(program, 'etcd', 'Back up and restore etcd');
  addSnapshot(etcd, io);
  addSnapshots(etcd, io);
  addVerify(etcd, io);
  addRestore(etcd, io);
};

type EtcdOptions = WaitOptions & { readonly idempotencyKey?: string };

const keyOption = (command: Command): Command =>
  command.option(
    '--idempotency-key <key>',
    'repeating the request with the same key has no further effect (default: generated)',
  );

const addSnapshot = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'snapshot <cluster>',
    summary: 'Take a snapshot of etcd',
    examples: [['fairlead etcd snapshot demo --wait', 'Take a snapshot, and print its name when it is complete']],
  });
  keyOption(addWaitOptions(command)).action(
    runs(io, async (session, name: string, options: EtcdOptions) => {
      checkWaitOptions(options);
      const at = clusterAt(session, name);
      const asked = await session.api.post('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', at, {
        key: options.idempotencyKey ?? randomUUID(),
      });
      return requestAnswer(name, await ended(session, at, asked, options));
    }),
  );
};

const addSnapshots = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list <cluster>',
    summary: 'List the snapshots of etcd, latest first',
    examples: [['fairlead etcd list demo', 'List the snapshots, with their age']],
  }).action(
    runs(io, async (session, name: string) =>
      snapshotsAnswer(
        await session.api.list('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', clusterAt(session, name)),
      ),
    ),
  );
};

const addVerify = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'verify <cluster> <snapshot>',
    summary: 'Verify a snapshot by restoring it into a scratch etcd',
    description:
      'Restore a snapshot into a scratch etcd on a control plane, read every key, and delete it. The etcd of the cluster is not touched.',
    examples: [
      ['fairlead etcd verify demo demo-e7f587580f681dc3 --wait', 'Verify a snapshot; exits with 1 if it is not valid'],
    ],
  });
  keyOption(addWaitOptions(command)).action(
    runs(io, async (session, name: string, snapshot: string, options: EtcdOptions) => {
      checkWaitOptions(options);
      const at = clusterAt(session, name);
      const asked = await session.api.post(
        '/ns/{namespace}/clusters/{cluster}/etcd/snapshots/{snapshot}/verify',
        { ...at, snapshot },
        { key: options.idempotencyKey ?? randomUUID() },
      );
      return requestAnswer(name, await ended(session, at, asked, options));
    }),
  );
};

type RestoreOptions = EtcdOptions & ConfirmOptions & { readonly confirm?: string; readonly confirmVersion?: string };

const addRestore = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'restore <cluster> <snapshot>',
    summary: 'Restore etcd from a snapshot; later changes are lost',
    description:
      'Restore etcd from a snapshot. All later changes in the cluster are lost: workloads, secrets, nodes. Confirm with the name of the cluster at the prompt, or with --yes. What the cluster declares is applied again afterwards: roles of groups, labels and taints of pools, the version of kube-proxy and CoreDNS.',
    examples: [
      [
        'fairlead etcd restore demo demo-e7f587580f681dc3 --wait',
        'Confirm with the name of the cluster, and wait until it is done',
      ],
      ['fairlead etcd restore demo demo-e7f587580f681dc3 --yes', 'Skip the confirmation'],
    ],
  });
  keyOption(addWaitOptions(addConfirmOption(command)))
    .addOption(new Option('--confirm <cluster>').hideHelp())
    .on('option:confirm', () => sayFormer(io, '--confirm', '--yes'))
    .option(
      '--confirm-version <version>',
      'confirm by giving the Kubernetes version of the snapshot, if the cluster runs another one by now',
    )
    .action(
      runs(io, async (session, name: string, snapshot: string, options: RestoreOptions) => {
        checkWaitOptions(options);
        const at = clusterAt(session, name);
        const { confirmVersion = '' } = options;
        const confirm = options.confirm ?? (await confirmed(session, at, snapshot, options));
        const asked = await session.api.post('/ns/{namespace}/clusters/{cluster}/etcd/restore', at, {
          body: { snapshot, confirm, confirmVersion },
          key: options.idempotencyKey ?? randomUUID(),
        });
        return requestAnswer(name, await ended(session, at, asked, options));
      }),
    );
};

/** The name of the cluster, which the server requires as a confirmation: typed by the user, or implied by --yes. */
const confirmed = async (
  { api, io }: Session,
  at: ClusterAt,
  snapshot: string,
  options: ConfirmOptions,
): Promise<string> => {
  const isAsked = options.yes !== true && io.ask !== undefined;
  const found = isAsked
    ? (await api.list('/ns/{namespace}/clusters/{cluster}/etcd/snapshots', at)).find(({ name }) => name === snapshot)
    : undefined;
  const age = found === undefined ? '' : ` (${ageOf(found)} old)`;
  const what = `Everything that happened in ${at.cluster} since ${snapshot}${age} will be lost`;
  await ask(io, { what, typed: at.cluster }, options);
  return at.cluster;
};

/** With --wait, displays the operation on the cluster, and returns its result. */
const ended = async (
  session: Session,
  at: ClusterAt,
  { seq, data: asked }: Accepted<EtcdRequestView>,
  { wait, timeout = WAIT_DEFAULT_MS }: WaitOptions,
): Promise<EtcdRequestView> => {
  const options = { ...(wait === undefined ? {} : { wait }), timeout };
  const what = `the ${asked.what} of the etcd of ${at.cluster}`;
  const followed = await waitFor(session, at, { seq, what }, options);
  return followed === undefined
    ? asked
    : session.api.get('/ns/{namespace}/clusters/{cluster}/etcd/requests/{request}', { ...at, request: asked.id });
};

const requestAnswer = (cluster: string, request: EtcdRequestView): CommandOutput => {
  const { what, phase, snapshot, id } = request;
  const [under, done] = ETCD_WORDS[what];
  const named = snapshot === null ? 'The snapshot' : `The snapshot ${snapshot}`;
  return {
    data: request,
    table: `${named} of ${cluster} ${phase === 'Running' ? under : done}.`,
    names: [snapshot ?? id],
  };
};

/**
 * The participles for an operation on a snapshot in progress and after success. An invalid snapshot or a failed restore
 * ends the command earlier.
 */
const ETCD_WORDS: Readonly<Record<EtcdRequestView['what'], readonly [under: string, done: string]>> = {
  snapshot: ['is being taken', 'is complete'],
  verification: ['is being verified', 'is valid'],
  restore: ['is being restored', 'is restored'],
};

const ageOf = ({ ageSeconds }: EtcdSnapshotView): string => formatDuration(ageSeconds * MS_PER_SECOND);

const snapshotsAnswer = (snapshots: readonly EtcdSnapshotView[]): CommandOutput => ({
  data: snapshots,
  table: {
    columns: [
      ...[
        'name',
        optional('version', 2),
        'age',
        optional('created', 3),
        optional('node', 5),
        'size',
        optional('keys', 4),
      ],
      ...['reason', optional('verified', 1), 'restorable'],
    ],
    rows: snapshots.map((snapshot) => [
      snapshot.name,
      snapshot.kubernetesVersion ?? '-',
      ageOf(snapshot),
      snapshot.takenAt,
      snapshot.node,
      sizeOf(snapshot.bytes),
      String(snapshot.keys),
      snapshot.upgrade ?? snapshot.reason,
      verifiedOf(snapshot),
      snapshot.restorable ? 'yes' : 'no',
    ]),
    empty: 'There are no snapshots.',
  },
  names: snapshots.map(({ name }) => name),
});

const verifiedOf = ({ verification: { state, at } }: EtcdSnapshotView): string => {
  if (state === 'verified') return at ?? 'yes';
  return { open: 'in progress', unverified: 'no', invalid: 'INVALID' }[state];
};

const KIB = 1_024;
const MIB = KIB * KIB;
const sizeOf = (bytes: number): string =>
  bytes < MIB ? `${Math.ceil(bytes / KIB)} KiB` : `${(bytes / MIB).toFixed(1)} MiB`;
