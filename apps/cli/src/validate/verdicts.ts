import { TEMPLATE_KIND, type Refusal } from '@fairlead/contracts';
import { documentFaults, templateValues } from '@fairlead/domain';
import { certificateFault } from '@fairlead/parsers/certificates';
import { isTemplate, type SourcedManifest } from '../document/manifest.document.js';

interface PlacedFault {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly help?: string;
  readonly file: string;
  /** Where the field is, or what should have it; counted from 1. */
  readonly line: number;
}

/** What is wrong with one document. */
export interface Verdict {
  readonly kind: string;
  readonly name: string;
  readonly file: string;
  readonly faults: readonly PlacedFault[];
  readonly missingTemplate?: string;
}

/** `spec.pools[0].name` as the keys that lead there. */
const pathOf = (field: string): readonly string[] => field.split(/[.[\]]+/).filter((part) => part !== '');

/** There is no server whose document could be read. */
const helpOf = ({ code, help }: Refusal): string | undefined =>
  code === 'request.malformed' ? 'See the fields with "fairlead schema", or in docs/manifests.md.' : help;

const placed = ({ source, lineOf }: SourcedManifest, refusal: Refusal): PlacedFault => {
  const { code, message, field } = refusal;
  const help = helpOf(refusal);
  return {
    code,
    message,
    ...(field === undefined ? {} : { field }),
    ...(help === undefined || help === '' ? {} : { help }),
    file: source.file,
    line: lineOf(field === undefined ? [] : pathOf(field)),
  };
};

/** Each document by itself, and a cluster with its template if that is one of them. */
export const verdictsOf = (
  documents: readonly SourcedManifest[],
  { namespace, now }: { readonly namespace: string; readonly now: string },
): readonly Verdict[] =>
  documents.map((document) => {
    const { manifest, source } = document;
    const own = manifest.metadata.namespace ?? namespace;
    const templateOf = (name: string) => {
      const found = documents.find(
        ({ manifest: { kind, metadata } }) =>
          kind === TEMPLATE_KIND && metadata.name === name && (metadata.namespace ?? namespace) === own,
      );
      return found === undefined ? undefined : templateValues(found.manifest);
    };
    const { faults, missingTemplate } = documentFaults(manifest, { namespace: own, now, templateOf, certificateFault });
    return {
      kind: isTemplate(manifest) ? TEMPLATE_KIND : 'Cluster',
      name: manifest.metadata.name,
      file: source.file,
      faults: faults.map((fault) => placed(document, fault)),
      ...(missingTemplate === undefined ? {} : { missingTemplate }),
    };
  });
