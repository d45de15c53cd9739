import * as z from 'zod';
import { PoolName } from '../ids.js';

/** Name of a cluster template: a DNS label. */
export const TemplateName = PoolName;
export type TemplateName = z.infer<typeof TemplateName>;

/** The template values with which a cluster was declared. */
export const TemplateUse = z.strictObject({
  name: TemplateName,
  revision: z.int().describe('Sequence of the event that declared the values'),
});
export type TemplateUse = z.infer<typeof TemplateUse>;
