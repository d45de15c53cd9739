import * as z from 'zod';
import { ConnectionName } from './ids.js';
import { limitedRecord } from './limited.record.js';

const ENTRIES_MAX = 1_000;

/** What machines cost, by connection and machine type. Their disks, addresses and traffic are not part of it. */
export const PriceList = z.strictObject({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, { error: 'is not a code of three letters, such as EUR' })
    .describe('ISO 4217'),
  perHour: limitedRecord(
    ConnectionName,
    limitedRecord(z.string().min(1).max(255), z.number().min(0).max(1_000_000), ENTRIES_MAX),
    ENTRIES_MAX,
  ),
});
export type PriceList = z.output<typeof PriceList>;
