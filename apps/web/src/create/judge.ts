import '../no.eval.js';
import {
  CONTROL_PLANE_POOL,
  ClusterManifest,
  apiAccessOf,
  apiAccessText,
  KUBERNETES_RELEASES,
  manifestJsonSchema,
  sizeFaults,
  specOfManifest,
  withV,
  type DeclaredSpec,
  type PlanStep,
  type Refusal,
} from '@fairlead/contracts';
import {
  changeFaults,
  changesOf,
  documentFaults,
  faultsOfManifest,
  parseByShape,
  planOf,
  versionFaults,
  type PoolMember,
} from '@fairlead/domain';
import type { Schemas } from '@fairlead/api-client';
import { formOf, type JsonSchema } from './schema.js';

/** A cluster that there is, as far as the browser knows it. */
export interface Present {
  readonly manifest: Schemas['ClusterManifestView'];
  readonly nodes: Schemas['Cluster']['nodes'];
}

export interface Basis {
  readonly namespace: string;
  readonly cluster: string;
  readonly now: string;
  /** Undefined: it is a new cluster. */
  readonly present: Present | undefined;
}

export interface Judgement {
  readonly faults: readonly Refusal[];
  /** What would be done; undefined: only the gateway knows. */
  readonly plan?: readonly PlanStep[];
  /** Who may connect to its Kubernetes API, in words; absent: not known. */
  readonly access?: string;
  /** Why the browser cannot say it; absent: it can. */
  readonly left?: string;
}

export const manifestForm = () => formOf(manifestJsonSchema() as JsonSchema);

const isBuiltIn = (version: string | undefined): boolean =>
  version === undefined || KUBERNETES_RELEASES.some((release) => withV(release.version) === withV(version));

const OWN_RELEASE = 'the version is not one that is built in';

/** What the gateway would say of a manifest as far as it follows from the manifest and the cluster alone, by the same rules. */
export const judge = (document: unknown, basis: Basis): Judgement =>
  basis.present === undefined ? judgeNew(document, basis) : judgeChange(document, basis, basis.present);

const judgeNew = (document: unknown, { namespace, now }: Basis): Judgement => {
  const version: unknown = (document as { spec?: { version?: unknown } } | null)?.spec?.version;
  if (typeof version === 'string' && !isBuiltIn(version)) return { faults: [], left: OWN_RELEASE };
  const { faults, missingTemplate } = documentFaults(document, {
    ...{ namespace, now },
    templateOf: () => undefined,
    certificateFault: () => undefined,
  });
  if (missingTemplate !== undefined) return { faults, left: `it is resolved with template ${missingTemplate}` };
  if (faults.length > 0) return { faults };
  const declared = specOfManifest(ClusterManifest.parse(document).spec);
  return { faults, plan: planOf(undefined, declared, { members: [] }), access: accessIn(declared) };
};

/** A balancer of its own name is only known to the cluster. */
const accessIn = ({ firewall }: DeclaredSpec): string => apiAccessText(apiAccessOf(firewall, undefined));

const judgeChange = (document: unknown, { namespace, cluster }: Basis, { manifest, nodes }: Present): Judgement => {
  const before = specOfManifest(ClusterManifest.parse({ ...manifest, metadata: { name: cluster } }).spec);
  const hasTemplate = (document as { spec?: { template?: unknown } } | null)?.spec?.template !== undefined;
  if (hasTemplate || manifest.status?.template !== undefined)
    return { faults: [], left: 'it is resolved with a template' };
  const parsed = parseByShape(ClusterManifest, document);
  if ('faults' in parsed) return { faults: parsed.faults };
  const { spec } = parsed.data;
  if (!isBuiltIn(spec.version) || !isBuiltIn(before.version)) return { faults: [], left: OWN_RELEASE };
  const shape = [
    ...sizeFaults(spec.pools, before.pools),
    ...faultsOfManifest(parsed.data, { namespace, cluster } as Parameters<typeof faultsOfManifest>[1]),
    ...versionFaults(spec),
  ];
  if (shape.length > 0) return { faults: shape };
  const after = specOfManifest(spec, before);
  const faults = changeFaults(before, after);
  if (faults.length > 0) return { faults };
  const left = whyLeft(before, after, manifest, nodes);
  const access = accessIn(after);
  return left === undefined
    ? { faults, access, plan: planOf(before, after, { members: membersOf(before, nodes) }) }
    : { faults, access, left };
};

const counted = (nodes: Present['nodes']): Present['nodes'] => nodes.filter(({ extraFor }) => extraFor === undefined);

const poolOf = ({ role, pool }: Present['nodes'][number]): string =>
  role === 'control-plane' ? CONTROL_PLANE_POOL : pool;

type Machines = DeclaredSpec['controlPlane'] | DeclaredSpec['pools'][number];

const templatesIn = ({ controlPlane, pools }: DeclaredSpec): ReadonlyMap<string, Machines> =>
  new Map<string, Machines>([
    [CONTROL_PLANE_POOL, controlPlane] as const,
    ...pools.map((pool) => [pool.name, pool] as const),
  ]);

/** Views do not show of what disk a machine is, or which request a node comes from: where that counts, the gateway alone says what would be done. */
const whyLeft = (
  before: DeclaredSpec,
  after: DeclaredSpec,
  { status }: Present['manifest'],
  nodes: Present['nodes'],
): string | undefined => {
  if (status?.state !== 'Running') return 'the cluster is not Running';
  const [were, are] = [templatesIn(before), templatesIn(after)];
  for (const [pool, was] of were) {
    const is = are.get(pool);
    if (is !== undefined && (changesOf(was, is).length > 0 || was.rollout?.strategy !== is.rollout?.strategy))
      return `machines of ${pool} may be replaced`;
    const { length } = counted(nodes).filter((node) => poolOf(node) === pool && node.ready);
    if (length !== was.replicas) return `${pool} has not the nodes that are declared yet`;
  }
  return undefined;
};

const membersOf = (before: DeclaredSpec, nodes: Present['nodes']): readonly PoolMember[] => {
  const templates = templatesIn(before);
  return counted(nodes).flatMap((node) => {
    const machine = templates.get(poolOf(node));
    if (machine === undefined) return [];
    const { name, ready, leader } = node;
    const zone = node.zoneLabel.split('=')[1] ?? '';
    return [{ name, pool: poolOf(node), ready, joined: true, zone, machine, leader }];
  });
};
