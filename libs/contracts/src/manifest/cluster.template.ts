import * as z from 'zod';
import { Namespace } from '../ids.js';
import { TEXT_LENGTH_MAX } from '../text.limits.js';
import { time } from '../views/time.js';
import { MANIFEST_API_VERSION } from './cluster.manifest.js';
import { TemplateCluster } from './template.cluster.js';
import { TemplateName } from './template.use.js';

export const TEMPLATE_KIND = 'ClusterTemplate';
/** Per namespace. */
export const TEMPLATES_MAX = 200;

const templateFields = {
  description: z.string().max(TEXT_LENGTH_MAX).default('').describe('For whoever chooses a template'),
  deprecated: z.boolean().default(false).describe('true: clusters that have it keep it, and no other may choose it'),
};

const readOnly = z.unknown().optional().describe('Read-only: ignored in requests');

/**
 * The template that a platform team writes. Fields that a GET adds are accepted, so that its response can be sent back.
 */
export const ClusterTemplateManifest = z
  .strictObject({
    apiVersion: z.literal(MANIFEST_API_VERSION),
    kind: z.literal(TEMPLATE_KIND),
    metadata: z.strictObject({
      name: TemplateName,
      namespace: Namespace.optional().describe('Left out: that of the request'),
      resourceVersion: z
        .string()
        .max(20)
        .optional()
        .describe(
          'The one that was read: refused when the template has changed since. Empty: refused when there is such a template. Left out: whatever it is',
        ),
      creationTimestamp: readOnly,
    }),
    spec: z
      .strictObject({
        ...templateFields,
        cluster: TemplateCluster.describe('Never changes: an upgrade is another template, which clusters name instead'),
      })
      .meta({ id: 'ClusterTemplateSpec' }),
    status: readOnly,
  })
  .meta({
    id: 'ClusterTemplateManifest',
    description: 'What the clusters of a namespace that name it have in common',
    examples: [
      {
        apiVersion: MANIFEST_API_VERSION,
        kind: TEMPLATE_KIND,
        metadata: { name: 'small-1-34' },
        spec: {
          description: 'One control plane in the lab',
          cluster: {
            version: 'v1.34.1',
            controlPlane: { replicas: 1, connection: 'lab', machineType: 'lab.medium' },
            pools: { connection: 'lab', machineType: 'lab.medium' },
          },
        },
      },
    ],
  });
export type ClusterTemplateManifest = z.infer<typeof ClusterTemplateManifest>;

export const ClusterTemplateView = z
  .strictObject({
    apiVersion: z.literal(MANIFEST_API_VERSION),
    kind: z.literal(TEMPLATE_KIND),
    metadata: z.strictObject({
      name: z.string(),
      namespace: z.string(),
      resourceVersion: z.string().describe('Changes with the spec; empty: there is no such template yet (a dry run)'),
      creationTimestamp: time.optional(),
    }),
    spec: z.strictObject({ description: z.string(), deprecated: z.boolean(), cluster: TemplateCluster }),
    status: z
      .strictObject({
        revision: z.int().describe('Of its values: clusters name it as what they were declared with'),
        clusters: z.array(z.string()).describe('Clusters that have the template, by name'),
      })
      .optional()
      .describe('Absent in the answer to a change: see GET'),
  })
  .meta({ id: 'ClusterTemplate' });
export type ClusterTemplateView = z.infer<typeof ClusterTemplateView>;

export const ClusterTemplateList = z
  .strictObject({ kind: z.literal('ClusterTemplateList'), items: z.array(ClusterTemplateView) })
  .meta({ id: 'ClusterTemplateList' });
export type ClusterTemplateList = z.infer<typeof ClusterTemplateList>;

export const TemplatePath = z.object({ namespace: Namespace, template: TemplateName });
export type TemplatePath = z.infer<typeof TemplatePath>;

/** JSON Schema of the template that a platform team writes. */
export const templateJsonSchema = (): object =>
  z.toJSONSchema(ClusterTemplateManifest, { target: 'draft-2020-12', io: 'input', unrepresentable: 'any' });
