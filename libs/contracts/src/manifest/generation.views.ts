import * as z from 'zod';
import { DeclaredSpec } from './declared.js';
import { Labels } from '../labels.js';
import { ClusterName, Namespace } from '../ids.js';
import { MANIFEST_API_VERSION, MANIFEST_KIND } from './cluster.manifest.js';
import { ChangeEvent, FieldChange } from '../views/change.views.js';

/** Generations and their numbers derive from the log: the same events always yield the same ones. */
const GenerationNumber = z.int().min(1);

export const GenerationPath = z.object({
  namespace: Namespace,
  cluster: ClusterName,
  generation: z.string().regex(/^[1-9]\d{0,8}$/),
});
export type GenerationPath = z.infer<typeof GenerationPath>;

export const ManifestGeneration = z
  .strictObject({
    generation: GenerationNumber.describe('Counted from 1, the creation, by each event that changes what is declared'),
    current: z.boolean().describe('Whether the cluster is declared so now'),
    event: ChangeEvent.describe('The event that declared it'),
    changes: z.array(FieldChange.omit({ event: true })).describe('Compared with the generation before it'),
    changesLeftOut: z.int().describe('So many more fields differ'),
  })
  .meta({ id: 'ManifestGeneration' });
export type ManifestGeneration = z.infer<typeof ManifestGeneration>;

export const ManifestGenerationList = z
  .strictObject({
    kind: z.literal('ManifestGenerationList'),
    items: z.array(ManifestGeneration).describe('Latest first'),
    earlierLeftOut: z.int().describe('So many earlier generations are not listed; each can be read by its number'),
  })
  .meta({ id: 'ManifestGenerationList', description: 'What a cluster was declared to be, one change after the other' });
export type ManifestGenerationList = z.infer<typeof ManifestGenerationList>;

export const ManifestOfGeneration = z
  .strictObject({
    apiVersion: z.literal(MANIFEST_API_VERSION),
    kind: z.literal(MANIFEST_KIND),
    metadata: z.strictObject({ name: z.string(), namespace: z.string(), labels: Labels.optional() }),
    spec: DeclaredSpec,
  })
  .meta({ id: 'ManifestOfGeneration', description: 'A manifest as it was declared; it can be applied again' });
export type ManifestOfGeneration = z.infer<typeof ManifestOfGeneration>;
