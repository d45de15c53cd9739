import { parseJsonOrUndefined } from '@fairlead/parsers';
import * as z from 'zod';

const LENGTH_MAX = 262_144;

const Ref = z.object({
  apiVersion: z.string().min(1),
  kind: z.string().min(1),
  metadata: z.object({ name: z.string().min(1), namespace: z.string().exactOptional() }),
});
export type ObjectRef = z.infer<typeof Ref>;

const Inventory = z.object({
  revision: z.int().min(1),
  status: z.enum(['pending', 'deployed']),
  objects: z.array(Ref).readonly(),
  /** SHA-256 of the declared objects, which may be Secrets. */
  digest: z.string(),
});
/** The applied objects of an add-on, as listed in its ConfigMap. */
export type Inventory = z.infer<typeof Inventory>;

/** undefined: others have changed it. */
export const parseInventory = (text: string): Inventory | undefined =>
  Inventory.safeParse(parseJsonOrUndefined(text, { lengthMax: LENGTH_MAX })).data;
