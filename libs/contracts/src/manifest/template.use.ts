import * as z from 'zod';
import { PoolName } from '../ids.js';

/** Of a cluster template: a DNS label. */
export const TemplateName = PoolName;
export type TemplateName = z.infer<typeof TemplateName>;

/** Which values a cluster was declared with. */
export const TemplateUse = z.strictObject({
  name: TemplateName,
  revision: z.int().describe('Sequence of the event that declared the values'),
});
export type TemplateUse = z.infer<typeof TemplateUse>;
