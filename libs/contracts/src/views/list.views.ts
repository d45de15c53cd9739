import * as z from 'zod';

export const ListMeta = z
  .strictObject({ continue: z.string().describe('More items follow: give it as `continue` to get them') })
  .meta({ id: 'ListMeta', description: 'Absent: the list ends here' });
export type ListMeta = z.infer<typeof ListMeta>;

/** Fields of a paginated list besides kind and items. */
export const paged = { metadata: ListMeta.exactOptional() };
