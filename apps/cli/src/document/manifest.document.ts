import { stringify } from 'yaml';
import { MANIFEST_API_VERSION, MANIFEST_KIND, TEMPLATE_KIND } from '@fairlead/contracts';
import { ParseFailure, parsePlacedYaml, parseYamlDocuments } from '@fairlead/parsers';
import type { ClusterAt, Manifest, ManifestView, TemplateAt } from '../api/views.js';
import type { Session } from '../command/session.js';
import { usageFailure } from '../failures.js';
import { FILE_LIMITS } from '../io/file.limits.js';

/** A manifest in a file or a request. The server validates all other fields. */
export interface ManifestDocument extends Manifest {
  readonly metadata: Readonly<Record<string, unknown>> & { readonly name: string; readonly namespace?: string };
}

const isMapping = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The location of a manifest. */
export interface Source {
  /** As the user named it, or as it was found in a folder. */
  readonly file: string;
  /** The number of the document, from 1; absent if the file has only one. */
  readonly document?: number;
}

export interface SourcedManifest {
  readonly manifest: ManifestDocument;
  readonly source: Source;
  /** The line number, from 1, of the field at a path, or of its nearest existing parent. */
  readonly lineOf: (path: readonly PropertyKey[]) => number;
}

export const sourceText = ({ file, document }: Source): string =>
  document === undefined ? file : `document ${document} of ${file}`;

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** For the start of a sentence. The name of a file is not capitalized. */
const subjectOf = (source: Source): string =>
  source.document === undefined ? source.file : capitalized(sourceText(source));

/** The limit for one file or stream. */
const DOCUMENTS_MAX = 100;

const documentsIn = (text: string, file: string): readonly unknown[] => {
  try {
    return parseYamlDocuments(text, FILE_LIMITS).filter((document) => document !== null);
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    throw usageFailure(`${file} is not YAML that can be read: ${error.message}`);
  }
};

/** The positions in documents. The text is parsed again, only if a line number is needed. */
const linesIn = (text: string): ((at: number, path: readonly PropertyKey[]) => number) => {
  let placed: ReturnType<typeof parsePlacedYaml> | undefined;
  return (at, path) => {
    placed ??= parsePlacedYaml(text, FILE_LIMITS).filter(({ value }) => value !== null);
    return placed[at]?.lineOf(path) ?? 1;
  };
};

/** The clusters and templates in YAML or JSON; empty documents are skipped. `file` is the name in error messages. */
export const parseManifests = (text: string, file: string): readonly SourcedManifest[] => {
  const documents = documentsIn(text, file);
  if (documents.length > DOCUMENTS_MAX)
    throw usageFailure(
      `${file} holds ${documents.length} documents`,
      `A file may hold at most ${DOCUMENTS_MAX}; split it, and apply the folder.`,
    );
  const lines = linesIn(text);
  return documents.map((document, at) => {
    const source = documents.length === 1 ? { file } : { file, document: at + 1 };
    return { manifest: manifestOf(document, source), source, lineOf: (path) => lines(at, path) };
  });
};

/** The same for a text with a single document. */
export const parseManifest = (text: string, file: string): ManifestDocument => {
  const [first, ...others] = parseManifests(text, file);
  if (first === undefined) throw usageFailure(`${file} is empty`);
  if (others.length > 0) throw usageFailure(`${file} holds ${others.length + 1} documents`, 'Edit one at a time.');
  return first.manifest;
};

const KINDS: readonly unknown[] = [MANIFEST_KIND, TEMPLATE_KIND];

/** A ClusterRequest has its machines at the top level, and neither apiVersion nor kind. */
const isLadybug = (document: unknown): boolean =>
  isMapping(document) &&
  !('apiVersion' in document || 'metadata' in document) &&
  ('controlPlane' in document || 'worker' in document);

const manifestOf = (manifest: unknown, source: Source): ManifestDocument => {
  if (isLadybug(manifest))
    throw usageFailure(
      `${subjectOf(source)} holds a request for CB-Ladybug, not a manifest`,
      `Type "fairlead cluster create --ladybug -f ${source.file === 'Standard input' ? '-' : source.file}", or start from a manifest with "fairlead init <name>".`,
    );
  const metadata = isMapping(manifest) ? manifest['metadata'] : undefined;
  if (!isMapping(manifest) || !isMapping(metadata) || typeof metadata['name'] !== 'string')
    throw usageFailure(
      `${subjectOf(source)} does not hold a manifest with metadata.name`,
      `It begins with apiVersion: ${MANIFEST_API_VERSION} and kind: ${MANIFEST_KIND} or ${TEMPLATE_KIND}; "fairlead export" writes one.`,
    );
  const { kind } = manifest;
  if (kind !== undefined && !KINDS.includes(kind))
    throw usageFailure(
      `${subjectOf(source)} holds an object of kind ${JSON.stringify(kind)}`,
      `Fairlead applies the kinds ${MANIFEST_KIND} and ${TEMPLATE_KIND}; kubectl applies what runs in a cluster.`,
    );
  return manifest as unknown as ManifestDocument;
};

type NamespaceOptions = Pick<Session, 'namespace' | 'namespaceOption'>;

const namespaceOf = ({ metadata: { namespace: own } }: ManifestDocument, { namespace }: NamespaceOptions): string =>
  own ?? namespace;

/** A namespace in the file must not override a namespace that the user named. */
export const refuseForeignNamespace = (
  { manifest: { metadata }, source }: SourcedManifest,
  { namespaceOption: asked }: NamespaceOptions,
): void => {
  const { namespace: own } = metadata;
  if (own !== undefined && asked !== undefined && own !== asked)
    throw usageFailure(
      `${subjectOf(source)} is of namespace ${own}, not of ${asked}`,
      'Leave --namespace out, or change it.',
    );
};

export const addressOf = (manifest: ManifestDocument, asked: NamespaceOptions): ClusterAt => ({
  namespace: namespaceOf(manifest, asked),
  cluster: manifest.metadata.name,
});

export const templateAddressOf = (manifest: ManifestDocument, asked: NamespaceOptions): TemplateAt => ({
  namespace: namespaceOf(manifest, asked),
  template: manifest.metadata.name,
});

export const isTemplate = (manifest: ManifestDocument): boolean => manifest['kind'] === TEMPLATE_KIND;

export const yamlOf = (manifest: object): string => stringify(manifest, { aliasDuplicateObjects: false });

/** The declared state of a cluster, now or in an earlier generation. */
type DeclaredManifest = Pick<ManifestView, 'apiVersion' | 'kind' | 'spec'> & {
  readonly metadata: Pick<ManifestView['metadata'], 'name' | 'namespace' | 'labels'>;
};

/** Without server-side fields: can be applied to this cluster or, with another name, to a new one. */
export const exported = ({ apiVersion, kind, metadata: { name, namespace, labels }, spec }: DeclaredManifest) => ({
  apiVersion,
  kind,
  metadata: { name, namespace, ...(labels === undefined ? {} : { labels }) },
  spec: { ...spec, pools: spec.pools.map(withoutSize) },
});

type PoolView = ManifestView['spec']['pools'][number];
/** A pool as declared. */
export type DeclaredPool = Omit<PoolView, 'replicas'> & Partial<Pick<PoolView, 'replicas'>>;

/** The size of an autoscaled pool is not part of its declaration. */
const withoutSize = (pool: PoolView): DeclaredPool => {
  const { replicas: _size, ...others } = pool;
  return pool.autoscaling === undefined ? pool : others;
};
