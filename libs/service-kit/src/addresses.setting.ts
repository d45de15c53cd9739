import * as z from 'zod';
import { parseRanges, type AddressRange } from './addresses.rules.js';

/** An environment variable with address ranges, e.g. `10.0.0.0/8,fd00::/8,10.1.2.3/32:8443`. */
export const addressRanges = z
  .string()
  .default('')
  .transform((text, context): readonly AddressRange[] => {
    const { ranges, faults } = parseRanges(text);
    for (const fault of faults)
      context.addIssue({
        code: 'custom',
        message: `${fault} is not a range of addresses like 10.0.0.0/8, fd00::/8 or 10.1.2.3/32:8443`,
      });
    return ranges;
  });
