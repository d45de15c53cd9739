import { valueAt } from './json.js';

export interface FieldRequirement {
  readonly path: string;
  readonly equal: boolean;
  readonly value: string;
}

/**
 * Parses the `fieldSelector` query parameter (`status.phase!=Running,spec.nodeName=a`). Returns undefined if it is
 * invalid.
 */
export const parseFieldSelector = (text: string): readonly FieldRequirement[] | undefined => {
  const requirements: FieldRequirement[] = [];
  for (const term of text.split(',').filter((part) => part.trim() !== '')) {
    const match = /^([A-Za-z0-9.]+)\s*(==|=|!=)(.*)$/.exec(term.trim());
    if (match?.[1] === undefined) return undefined;
    requirements.push({ path: match[1], equal: match[2] !== '!=', value: (match[3] ?? '').trim() });
  }
  return requirements;
};

export const matchesFields = (requirements: readonly FieldRequirement[], object: unknown): boolean =>
  requirements.every(({ path, equal, value }) => (fieldText(valueAt(object, path)) === value) === equal);

const fieldText = (value: unknown): string => (value === undefined || value === null ? '' : String(value));

/** Fields that are supported for every kind. */
const COMMON_FIELDS = ['metadata.name', 'metadata.namespace'];

/** Fields that the API server indexes beyond name and namespace, by plural. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  pods: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'spec.hostNetwork',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  nodes: ['spec.unschedulable'],
  namespaces: ['status.phase'],
  secrets: ['type'],
  events: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  services: ['spec.clusterIP', 'spec.type'],
  replicasets: ['status.replicas'],
  jobs: ['status.successful'],
  certificatesigningrequests: ['spec.signerName'],
};

/** The first field that this resource does not support, if any. */
export const unsupportedField = (plural: string, requirements: readonly FieldRequirement[]): string | undefined =>
  requirements.map(({ path }) => path).find((path) => !COMMON_FIELDS.includes(path) && !FIELDS[plural]?.includes(path));
