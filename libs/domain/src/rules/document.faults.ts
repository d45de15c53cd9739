import {
  type Namespace,
  ClusterDraft,
  ClusterManifest,
  specOfManifest,
  ClusterTemplateManifest,
  TEMPLATE_KIND,
  leaseFaults,
  type TemplateCluster,
  type Refusal,
  sizeFaults,
} from '@fairlead/contracts';
import { completeTemplate, resolveTemplate } from '../manifest/cluster.template.resolve.js';
import { controlPlaneRolloutFaults } from '../manifest/manifest.plan.js';
import { faultsOfManifest, issuerCertificateFaults, newClusterFaults } from './manifest.rules.js';
import { parseByShape } from './request.faults.js';
import { templateFaults } from './template.rules.js';

/** The context in which a document is validated. */
export interface DocumentBasis {
  readonly namespace: string;
  /** RFC 3339. */
  readonly now: string;
  /** The values of a template of the namespace; undefined: unknown. */
  readonly templateOf: (name: string) => TemplateCluster | undefined;
  /** Why a certificate in PEM cannot be read. */
  readonly certificateFault: (pem: string) => string | undefined;
}

interface Judged {
  readonly faults: readonly Refusal[];
  /** The template whose values are required to validate the rest; absent: none. */
  readonly missingTemplate?: string;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const clusterFaults = (manifest: ClusterManifest, { namespace, now, certificateFault }: DocumentBasis): Judged => {
  const { spec, metadata } = manifest;
  const address = { namespace: (metadata.namespace ?? namespace) as Namespace, cluster: metadata.name };
  const shape = [
    ...sizeFaults(spec.pools, undefined),
    ...faultsOfManifest(manifest, address),
    ...issuerCertificateFaults(spec, certificateFault),
    ...newClusterFaults(manifest, []),
    ...controlPlaneRolloutFaults(spec),
  ];
  if (shape.length > 0) return { faults: shape };
  return { faults: leaseFaults(specOfManifest(spec).lease, undefined, now) };
};

const resolved = (document: Readonly<Record<string, unknown>>, basis: DocumentBasis): Judged & { value?: unknown } => {
  const spec = document['spec'];
  const name = isObject(spec) ? spec['template'] : undefined;
  if (!isObject(spec) || typeof name !== 'string') return { faults: [], value: document };
  const cluster = basis.templateOf(name);
  if (cluster === undefined) return { faults: [], missingTemplate: name };
  const { value, faults } = resolveTemplate(spec, { name, cluster, current: undefined, isKept: false });
  return { faults, value: { ...document, spec: value } };
};

/**
 * All faults of a cluster or template manifest by itself, with the server's messages: what the server would refuse for
 * a new one before it checks connections, machine sizes, quotas and other clusters.
 */
export const documentFaults = (document: unknown, basis: DocumentBasis): Judged => {
  if (isObject(document) && document['kind'] === TEMPLATE_KIND) {
    const template = parseByShape(ClusterTemplateManifest, document);
    return 'faults' in template ? { faults: template.faults } : { faults: templateFaults(template.data) };
  }
  const draft = parseByShape(ClusterDraft, document);
  if ('faults' in draft) return { faults: draft.faults };
  const { value, faults, missingTemplate } = resolved(document as Readonly<Record<string, unknown>>, basis);
  if (missingTemplate !== undefined) return { faults: [], missingTemplate };
  if (faults.length > 0) return { faults };
  const manifest = parseByShape(ClusterManifest, value);
  return 'faults' in manifest ? { faults: manifest.faults } : clusterFaults(manifest.data, basis);
};

/** The normalized values of a template; undefined: malformed. */
export const templateValues = (document: unknown): TemplateCluster | undefined => {
  const template = parseByShape(ClusterTemplateManifest, document);
  return 'faults' in template ? undefined : completeTemplate(template.data.spec.cluster);
};
