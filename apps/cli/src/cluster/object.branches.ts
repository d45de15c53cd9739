import { CONTROL_PLANE_POOL } from '@fairlead/contracts';
import type { ClusterView, ManifestView, OperationView } from '../api/views.js';
import type { Branch, Mark } from '../progress/tree.js';

/** What belongs to a cluster besides what its own view has; absent: it is not known of that moment. */
export interface AroundObjects {
  readonly manifest?: ManifestView | undefined;
  /** Oldest first. */
  readonly operations?: readonly OperationView[] | undefined;
}

const leaf = (mark: Mark, label: string, detail: string): Branch => ({ mark, label, detail, children: [] });

/** Its parts that are neither nodes nor conditions, each in a line. */
export const partBranches = (cluster: ClusterView, around: AroundObjects): readonly Branch[] => [
  balancerBranch(cluster),
  ...etcdBranches(cluster),
  ...connectionBranches(cluster),
  ...templateBranches(around),
  ...(cluster.addons ?? []).map(addonBranch),
  ...hookBranches(cluster, around),
  ...operationBranches(around),
];

const balancerBranch = ({ loadbalancer, endpoint }: ClusterView): Branch =>
  leaf(
    endpoint === '' ? 'waiting' : 'done',
    `Load balancer ${loadbalancer}`,
    endpoint === '' ? 'not there yet' : endpoint,
  );

/** A member runs on each control plane that has joined, beside kubeadm or by it. */
const etcdBranches = ({ etcd, nodes, conditions }: ClusterView): readonly Branch[] => {
  const members = nodes.filter(({ pool, phase }) => pool === CONTROL_PLANE_POOL && phase !== 'Planned');
  if (members.length === 0) return [];
  const isDegraded = conditions.some(({ type, status }) => type === 'EtcdHealthy' && status === 'False');
  const children = members.map(({ name, ready }) =>
    leaf(ready ? 'done' : 'trouble', `Member ${name}`, ready ? 'Ready' : 'not Ready'),
  );
  const ready = members.filter((node) => node.ready).length;
  const mark = isDegraded || ready < members.length ? 'trouble' : 'done';
  return [{ mark, label: `etcd ${etcd}`, detail: `${ready} of ${members.length} members on Ready nodes`, children }];
};

const connectionBranches = ({ nodes, conditions }: ClusterView): readonly Branch[] => {
  const unverified = conditions.find(({ type, status }) => type === 'ConnectionsVerified' && status === 'False');
  const names = [...new Set(nodes.map(({ connection }) => connection))].toSorted();
  return names.map((name) => {
    const count = nodes.filter(({ connection }) => connection === name).length;
    const isUnverified = unverified?.message.includes(name) === true;
    return leaf(
      isUnverified ? 'trouble' : 'done',
      `Connection ${name}`,
      `${count} ${count === 1 ? 'machine' : 'machines'}`,
    );
  });
};

const templateBranches = ({ manifest }: AroundObjects): readonly Branch[] => {
  const template = manifest?.status?.template;
  if (template === undefined) return [];
  const { name, revision, deprecated } = template;
  return [
    leaf(
      deprecated ? 'trouble' : 'done',
      `Template ${name}`,
      `revision ${revision}${deprecated ? ', deprecated' : ''}`,
    ),
  ];
};

const ADDON_MARKS: Readonly<Partial<Record<NonNullable<ClusterView['addons']>[number]['phase'], Mark>>> = {
  Deployed: 'done',
  Failed: 'trouble',
  Pending: 'waiting',
};

const addonBranch = ({ name, version, phase, since, message }: NonNullable<ClusterView['addons']>[number]): Branch =>
  leaf(
    ADDON_MARKS[phase] ?? 'running',
    `Add-on ${name}`,
    [version, `${phase} since ${since}`].filter(Boolean).join(', ') + (message === '' ? '' : `: ${message}`),
  );

const hookBranches = ({ conditions }: ClusterView, { manifest }: AroundObjects): readonly Branch[] => {
  const held = conditions.find(({ type, status }) => type === 'HookBlocked' && status === 'True')?.message ?? '';
  return (manifest?.spec.hooks ?? []).map(({ name, points }) => {
    const isHolding = held.includes(`paused by hook ${name} `);
    return leaf(
      isHolding ? 'waiting' : 'done',
      `Hook ${name}`,
      `${points.join(', ')}${isHolding ? ', holds a step' : ''}`,
    );
  });
};

/** Those that run, and those that failed and wait for someone. */
const operationBranches = ({ operations = [] }: AroundObjects): readonly Branch[] =>
  operations
    .filter(({ phase }) => phase === 'Running' || phase === 'Failed')
    .map(({ kind, phase, startedAt, message }) =>
      leaf(
        phase === 'Running' ? 'running' : 'trouble',
        `Operation ${kind}`,
        `${phase} since ${startedAt}${message === '' ? '' : `: ${message}`}`,
      ),
    );
