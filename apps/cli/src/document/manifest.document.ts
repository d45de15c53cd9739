import { parseAllDocuments, stringify } from 'yaml';
import { MANIFEST_API_VERSION, MANIFEST_KIND, TEMPLATE_KIND } from '@fairlead/contracts';
import type { ClusterAt, Manifest, ManifestView, TemplateAt } from '../api/api.ports.js';
import type { Session } from '../command/session.js';
import { usageFailure } from '../failures.js';

/** What is written to a file and sent to the server. All else that is wrong with it is the server's to say. */
export interface ManifestDocument extends Manifest {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly namespace?: string };
}

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Of one file or stream. */
const DOCUMENTS_MAX = 100;

/** The clusters and templates of a YAML or JSON text, at least one; empty documents are left out. `source` names it in a complaint. */
export const parseManifests = (text: string, source: string): readonly ManifestDocument[] => {
  const documents = [...parseAllDocuments(text)].filter((one) => one.errors.length > 0 || one.toJS() !== null);
  if (documents.length === 0) throw usageFailure(`${source} is empty`);
  if (documents.length > DOCUMENTS_MAX)
    throw usageFailure(`${source} holds ${documents.length} documents`, `Apply at most ${DOCUMENTS_MAX} at a time.`);
  return documents.map((document, at) => {
    const where = documents.length === 1 ? source : `Document ${at + 1} of ${source}`;
    const fault = document.errors[0]?.message.split('\n')[0]?.replace(/:$/, '');
    if (fault !== undefined) throw usageFailure(`${where} is not YAML: ${fault}`);
    return manifestOf(document.toJS(), where);
  });
};

/** The same of a text that holds one document. */
export const parseManifest = (text: string, source: string): ManifestDocument => {
  const [manifest, ...others] = parseManifests(text, source);
  if (manifest === undefined || others.length > 0)
    throw usageFailure(`${source} holds ${others.length + 1} documents`, 'Edit one at a time.');
  return manifest;
};

const manifestOf = (manifest: unknown, source: string): ManifestDocument => {
  const metadata = isMapping(manifest) ? manifest['metadata'] : undefined;
  if (!isMapping(manifest) || !isMapping(metadata) || typeof metadata['name'] !== 'string')
    throw usageFailure(
      `${source} does not hold a manifest with metadata.name`,
      `It begins with apiVersion: ${MANIFEST_API_VERSION} and kind: ${MANIFEST_KIND} or ${TEMPLATE_KIND}; "fairlead export" writes one.`,
    );
  return manifest as unknown as ManifestDocument;
};

type Asked = Pick<Session, 'namespace' | 'namespaceOption'>;

/** A namespace that was asked for is never left for the one in the file. */
const namespaceOf = (
  { metadata: { namespace: own } }: ManifestDocument,
  { namespace, namespaceOption: asked }: Asked,
): string => {
  if (own !== undefined && asked !== undefined && own !== asked)
    throw usageFailure(`The manifest is of namespace ${own}, not of ${asked}`, 'Leave --namespace out, or change it.');
  return own ?? namespace;
};

export const addressOf = (manifest: ManifestDocument, asked: Asked): ClusterAt => ({
  namespace: namespaceOf(manifest, asked),
  cluster: manifest.metadata.name,
});

export const templateAddressOf = (manifest: ManifestDocument, asked: Asked): TemplateAt => ({
  namespace: namespaceOf(manifest, asked),
  template: manifest.metadata.name,
});

export const isTemplate = (manifest: ManifestDocument): boolean => manifest['kind'] === TEMPLATE_KIND;

export const yamlOf = (manifest: object): string => stringify(manifest, { aliasDuplicateObjects: false });

/** Without what only the server knows: it can be applied to this cluster and, with another name, to a new one. */
export const exported = ({ apiVersion, kind, metadata: { name, namespace, labels }, spec }: ManifestView) => ({
  apiVersion,
  kind,
  metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
  spec: { ...spec, pools: spec.pools.map(withoutSize) },
});

type PoolView = ManifestView['spec']['pools'][number];
/** A pool as it is declared. */
export type DeclaredPool = Omit<PoolView, 'replicas'> & Partial<Pick<PoolView, 'replicas'>>;

/** The size of a pool that is autoscaled is no part of its declaration. */
const withoutSize = (pool: PoolView): DeclaredPool => {
  const { replicas: _size, ...others } = pool;
  return pool.autoscaling === undefined ? pool : others;
};
