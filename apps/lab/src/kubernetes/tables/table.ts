import type { KubeObject } from '../objects/kube.object.js';
import type { Json } from '../objects/json.js';
import { qualifiedName, type ResourceDefinition } from '../resources/resource.js';
import { AGE, NAME, type Column } from './column.js';
import * as core from './core.columns.js';
import { NODE_COLUMNS } from './node.columns.js';
import { POD_COLUMNS } from './pod.columns.js';
import * as workloads from './workload.columns.js';

/** Columns of a table receive only objects of their own resource. This is the only cast. */
const of = <T extends KubeObject>(columns: readonly Column<T>[]): readonly Column[] =>
  columns as unknown as readonly Column[];

const COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  nodes: of(NODE_COLUMNS),
  pods: of(POD_COLUMNS),
  namespaces: of(core.NAMESPACE_COLUMNS),
  services: of(core.SERVICE_COLUMNS),
  endpoints: of(core.ENDPOINTS_COLUMNS),
  configmaps: of(core.CONFIG_MAP_COLUMNS),
  secrets: of(core.SECRET_COLUMNS),
  serviceaccounts: of(core.SERVICE_ACCOUNT_COLUMNS),
  events: of(core.EVENT_COLUMNS),
  persistentvolumes: of(core.VOLUME_COLUMNS),
  persistentvolumeclaims: of(core.CLAIM_COLUMNS),
  'deployments.apps': of(workloads.DEPLOYMENT_COLUMNS),
  'replicasets.apps': of(workloads.REPLICA_SET_COLUMNS),
  'daemonsets.apps': of(workloads.DAEMON_SET_COLUMNS),
  'statefulsets.apps': of(workloads.STATEFUL_SET_COLUMNS),
  'jobs.batch': of(workloads.JOB_COLUMNS),
  'poddisruptionbudgets.policy': of(core.BUDGET_COLUMNS),
  'leases.coordination.k8s.io': of(core.LEASE_COLUMNS),
  'storageclasses.storage.k8s.io': of(core.STORAGE_CLASS_COLUMNS),
};

export interface TableOptions {
  readonly metaVersion: string;
  readonly includeObject: 'None' | 'Metadata' | 'Object';
  readonly nowMs: number;
  readonly listMetadata: object;
}

/** The objects as a `Table` for kubectl; kinds without their own columns show name and age. */
export const tableOf = (
  resource: ResourceDefinition,
  objects: readonly KubeObject[],
  options: TableOptions,
): object => {
  const columns = COLUMNS[qualifiedName(resource)] ?? [NAME, AGE];
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.metaVersion}`,
    metadata: options.listMetadata,
    columnDefinitions: columns.map(({ name, type, priority }) => ({
      name,
      type,
      format: name === 'Name' ? 'name' : '',
      description: '',
      priority,
    })),
    rows: objects.map((object) => ({
      cells: columns.map((column): Json => column.cell(object, options.nowMs)),
      ...rowObject(object, options),
    })),
  };
};

const rowObject = (object: KubeObject, { includeObject, metaVersion }: TableOptions): object => {
  switch (includeObject) {
    case 'None':
      return {};
    case 'Metadata':
      return { object: partialMetadata(object, metaVersion) };
    case 'Object':
      return { object };
  }
};

export const partialMetadata = (object: KubeObject, metaVersion: string): object => ({
  kind: 'PartialObjectMetadata',
  apiVersion: `meta.k8s.io/${metaVersion}`,
  metadata: object.metadata,
});
